import product from "../../../package.json" with { type: "json" };
import { openApiDocument } from "../../protocol/openapi.ts";
import type { operations } from "../../protocol/operations.ts";
import type { Route } from "../http/call.ts";
import { jsonResponse, jsonTextResponse } from "../http/json-response.ts";

const { version } = product;

export const health: Route<typeof operations.health> = () => jsonResponse({ status: "ok", version });

let documentText: string | null = null;

export const openapi: Route<typeof operations.openapi> = () => {
  documentText ??= JSON.stringify(openApiDocument(version));
  return jsonTextResponse(documentText);
};
