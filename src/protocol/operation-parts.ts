import { z } from "zod";

/** What operations have in common: their paths, and what most of them take and answer. */
export const TENANT = "/v1/tenants/{tenant}" as const;
export const TOPIC = `${TENANT}/topics/{topic}` as const;
export const GROUP = `${TOPIC}/groups/{group}` as const;

export const noQuery = z.strictObject({});
export const noBody = { kind: "none" } as const;
export const noContent = { 204: { description: "Done" } };
/** Of calls that only look. */
export const read = ["consume", "admin"] as const;
