import { FairlaneError } from "../../core/failure.ts";
import { MAX_REPLY_BYTES } from "../../core/limits.ts";
import type { operations } from "../../protocol/operations.ts";
import { receiveReplyText } from "../../protocol/reply-text.ts";
import type { ReportReadsInput, TakeInput, TakeReply } from "../../protocol/tenant-calls.ts";
import type { Call, Route } from "../http/call.ts";
import { jsonTextResponse } from "../http/json-response.ts";
import { CALL_DEADLINE_MS } from "../http/tenant-caller.ts";
import { errorFields, logLine } from "../log-line.ts";
import { type GrantReads, isUnavailable } from "../message-reader.ts";
import { probedResponse } from "./probed-response.ts";

/** Nobody reads it: the client has gone. The status is what logs of the platform show. */
const CLIENT_CLOSED_REQUEST = 499;
/** A client that has waited so long may have gone unnoticed, and a turn of the event loop more is nothing to it. */
const PROBE_AFTER_MS = 100;

type ReceiveCall = Call<typeof operations.receive>;

/**
 * A grant is given back when its reply certainly did not leave: the client went away while it waited, the take's own
 * answer was lost, its messages could not be read, or the reply could not be written. Once the reply is handed to the
 * platform it counts as delivered.
 */
export const receive: Route<typeof operations.receive> = async (call) => {
  const first = await receiveOnce(call, takeInput(call, call.body.waitMs), false);
  if (first !== null) return first;
  const waitMs = Math.max(0, call.nowMs + call.body.waitMs - Date.now());
  const last = await receiveOnce(call, takeInput(call, waitMs), true);
  if (last === null) throw new Error("the last take has no answer");
  return last;
};

/** One take and its reply; null when all that it was granted turned out to be gone, and it is not the last. */
async function receiveOnce(call: ReceiveCall, input: TakeInput, isLast: boolean): Promise<Response | null> {
  const { signal } = call.request;
  const { tenants } = call.services;
  const taken = tenants.call(call.tenant, "take", input, input.waitMs + CALL_DEADLINE_MS);
  let givenBack = false;
  const onAbort = () => {
    // The take ends early for a client that has gone; what it was granted all the same goes back as well.
    if (!givenBack) call.waitUntil(giveBackAll(call, input, taken));
    givenBack = true;
  };
  signal.addEventListener("abort", onAbort);
  let receipts: string[] = [];
  try {
    const granted = await taken;
    receipts = [...receiptsOf(granted.deliveries), ...receiptsOf(granted.grants)];
    const reply =
      granted.grants.length === 0
        ? granted
        : await withMessages(call, input, granted, () => {
            givenBack = true;
          });
    receipts = receiptsOf(reply.deliveries);
    if (!signal.aborted) {
      const isEmptyHanded = granted.grants.length > 0 && reply.deliveries.length === 0;
      return isEmptyHanded && !isLast ? null : await replyTo(call, input, reply);
    }
    // A signal that had fired before anybody listened calls no listener.
    onAbort();
    return new Response(null, { status: CLIENT_CLOSED_REQUEST });
  } catch (error) {
    if (!givenBack && mayHaveGranted(error)) call.waitUntil(giveBack(call, input, receipts));
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function takeInput({ params, body }: ReceiveCall, waitMs: number): TakeInput {
  return {
    topic: params.topic,
    group: params.group,
    subscriber: body.subscriber,
    maxMessages: body.maxMessages,
    waitMs,
    visibilityTimeoutMs: body.visibilityTimeoutMs ?? null,
    ...(body.route === undefined ? {} : { route: body.route }),
    takeId: crypto.randomUUID(),
  };
}

/** The reply with the messages of its grants, as far as there are any; the object is told of the others. */
async function withMessages(
  call: ReceiveCall,
  input: TakeInput,
  granted: TakeReply,
  onGivenBack: () => void,
): Promise<TakeReply> {
  const { grants } = granted;
  const { reader } = call.services;
  if (reader === null) throw new Error("the object granted without the messages that it holds");
  let reads: GrantReads;
  try {
    reads = await reader.readGrants({ tenant: call.tenant, topic: input.topic }, grants);
  } catch (error) {
    // Before the answer: the client's next receive must find them first of their lanes.
    if (isUnavailable(error) && (await reportReads(call, input, { unreachable: receiptsOf(grants) })))
      onGivenBack();
    throw error;
  }
  const { deliveries, missing, unreadable } = reads;
  if (missing.length + unreadable.length > 0) await reportReads(call, input, { missing, unreadable });
  return { ...granted, deliveries: [...granted.deliveries, ...deliveries], grants: [] };
}

async function replyTo(call: ReceiveCall, input: TakeInput, reply: TakeReply): Promise<Response> {
  const { text, left } = receiveReplyText(input.topic, reply, MAX_REPLY_BYTES);
  // Before the reply: otherwise the next receive could overtake what is left of a lane.
  if (left.length > 0) await giveBack(call, input, receiptsOf(left));
  const sent = receiptsOf(reply.deliveries).slice(0, reply.deliveries.length - left.length);
  const hasWaited = Date.now() - call.nowMs >= PROBE_AFTER_MS;
  if (sent.length === 0 || !hasWaited) return jsonTextResponse(text);
  return probedResponse(call, text, () => giveBack(call, input, sent));
}

function receiptsOf(granted: readonly { receipt: string }[]): string[] {
  return granted.map(({ receipt }) => receipt);
}

/** Any other failure is the object's own answer, and it grants nothing with it. */
function mayHaveGranted(error: unknown): boolean {
  return !(error instanceof FairlaneError) || isUnavailable(error);
}

async function giveBackAll(call: ReceiveCall, input: TakeInput, taken: Promise<TakeReply>): Promise<void> {
  await giveBack(call, input, []);
  // A take that failed is reported by the route itself, which awaits the same promise.
  const reply = await taken.catch(() => null);
  const receipts = reply === null ? [] : [...receiptsOf(reply.deliveries), ...receiptsOf(reply.grants)];
  if (receipts.length > 0) await giveBack(call, input, receipts);
}

/** Without it the deliveries come again after their visibility timeout: worth a line, not a failure. */
async function giveBack(call: ReceiveCall, input: TakeInput, receipts: string[]): Promise<void> {
  const { topic, group, takeId } = input;
  try {
    await call.services.tenants.call(call.tenant, "giveBack", { topic, group, takeId, receipts });
  } catch (error) {
    const { requestId } = call;
    logLine("warn", "give-back-failed", { requestId, ...errorFields(error) });
  }
}

/** Without it they stay in flight until their visibility timeout: worth a line, not a failure. */
async function reportReads(
  call: ReceiveCall,
  { topic, group }: TakeInput,
  { missing = [], unreadable = [], unreachable = [] }: Partial<ReportReadsInput>,
): Promise<boolean> {
  const report = { topic, group, missing, unreadable, unreachable };
  try {
    await call.services.tenants.call(call.tenant, "reportReads", report);
    return true;
  } catch (error) {
    logLine("warn", "report-reads-failed", { requestId: call.requestId, ...errorFields(error) });
    return false;
  }
}
