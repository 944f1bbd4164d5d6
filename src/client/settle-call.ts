import type { SettleRequest, SettleResult } from "./delivery.ts";
import { type Call, type HttpCaller, listOf } from "./http-caller.ts";
import { unexpected } from "./read-reply.ts";

/**
 * Settles deliveries by their receipts: one result for each, in order.
 *
 * @param isRepeat an earlier try of the same settlements may have been carried out
 */
export async function settleCall(
  caller: HttpCaller,
  path: string,
  request: SettleRequest,
  options: Pick<Call, "signal" | "retry" | "timeoutMs">,
): Promise<SettleResult[]> {
  const answer = await caller.call({ method: "POST", path, body: JSON.stringify(request), ...options });
  const results = listOf<SettleResult>(answer, "results");
  if (results.length !== request.settlements.length) {
    throw unexpected(answer.response, "the reply does not have one result for each settlement");
  }
  if (!answer.isRepeat) return results;
  return results.map((result, i) => asOurs(result, request.settlements[i]?.action));
}

/** What a try without an answer may have settled counts as its own. */
export function asOurs(result: SettleResult, action: string | undefined): SettleResult {
  const mayBeOurs = action === "ack" || action === "reject" || action === "nack";
  return result.status === "settled" && mayBeOurs ? { ...result, status: "ok" } : result;
}
