import type { BodyOf, Operation, ParamsOf, QueryOf } from "../../protocol/operation.ts";
import type { Services } from "../compose.ts";

/** A request that was let in and validated, as a route sees it. */
export interface Call<O> {
  tenant: string;
  params: ParamsOf<O>;
  query: QueryOf<O>;
  body: BodyOf<O>;
  request: Request;
  requestId: string;
  services: Services;
  nowMs: number;
  /** Lets work go on after the reply. */
  waitUntil(work: Promise<unknown>): void;
}

/** Answers, or throws `FairlaneError`. */
export type Route<O> = (call: Call<O>) => Promise<Response> | Response;

/** A route as the app holds it, its types behind it. */
export type AnyRoute = (call: Call<Operation>) => Promise<Response> | Response;
