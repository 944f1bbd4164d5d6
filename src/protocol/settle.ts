import { z } from "zod";
import { MAX_REASON_CHARS, MAX_SETTLEMENTS } from "../core/limits.ts";
import { delayMs, receipt, subscriberName, visibilityTimeoutMs } from "./fields.ts";

const reason = z
  .string("must be a string")
  .optional()
  .meta({ description: `Cut to ${MAX_REASON_CHARS} characters` });

export const settlement = z.discriminatedUnion(
  "action",
  [
    z.strictObject({ receipt, action: z.literal("ack") }),
    z.strictObject({ receipt, action: z.literal("nack"), reason, delayMs: delayMs.optional() }),
    z.strictObject({ receipt, action: z.literal("postpone"), delayMs }),
    z.strictObject({ receipt, action: z.literal("reject"), reason }),
    z.strictObject({ receipt, action: z.literal("extend"), visibilityTimeoutMs }),
  ],
  "must be ack, nack, postpone, reject or extend",
);

export const settleRequest = z.strictObject({
  subscriber: subscriberName.optional().meta({ description: "Counts as its heartbeat" }),
  settlements: z
    .array(settlement, "must be an array")
    .min(1, "must have at least 1 settlement")
    .max(MAX_SETTLEMENTS, `must have at most ${MAX_SETTLEMENTS} settlements`),
});
export type SettleRequest = z.output<typeof settleRequest>;

export const settleReply = z.strictObject({
  results: z.array(
    z.strictObject({
      receipt: z.string(),
      status: z.enum(["ok", "stale", "settled", "invalid"]),
      deadLettered: z.literal(true).optional().meta({ description: "Decided and stored; the copy follows" }),
    }),
  ),
});

/** A reason as it is kept: well-formed, and cut without halving a character. */
export function keptReason(text: string): string {
  if (text.length <= MAX_REASON_CHARS) return text.toWellFormed();
  // No character is longer than two units: what lies beyond is cut in any case.
  const cut = [...text.slice(0, 2 * MAX_REASON_CHARS)].slice(0, MAX_REASON_CHARS).join("");
  return cut.toWellFormed();
}
