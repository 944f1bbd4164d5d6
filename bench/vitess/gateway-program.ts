import { type Gateway, type GatewayStats, startGateway } from "../../src/gateway/gateway.ts";
import { obeyOrders } from "../load/child-program.ts";

/** The gateway as a program of its own, which also tells what passed through it. */
export type GatewayOrder = { start: { dsn: string; user: string; password: string } } | "stats";
export type GatewayAnswer = { url: string } | GatewayStats;

let gateway: Gateway | null = null;

obeyOrders(async (order: GatewayOrder): Promise<GatewayAnswer> => {
  if (order !== "stats") {
    gateway = await startGateway(order.start);
    return { url: gateway.url };
  }
  if (gateway === null) throw new Error("it was not started");
  // Its fields are getters, which do not travel.
  return { ...gateway.stats };
});
