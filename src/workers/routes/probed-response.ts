import { JSON_CONTENT_TYPE } from "../../protocol/reply-text.ts";

const encoder = new TextEncoder();

/**
 * A JSON reply to a client that may be gone. workerd notices a closed connection only when it writes to it:
 * so the first byte goes out alone, and the rest a moment later, unless the signal has fired by then. Then
 * no client can have read the reply, since nobody can read JSON of one byte, and `onGone` is called.
 */
export function probedResponse(
  { request, waitUntil }: { request: Request; waitUntil(work: Promise<unknown>): void },
  text: string,
  onGone: () => Promise<void>,
): Response {
  const bytes = encoder.encode(text);
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  waitUntil(write(writable.getWriter(), bytes, request.signal, onGone));
  return new Response(readable, { headers: { "content-type": JSON_CONTENT_TYPE } });
}

async function write(
  writer: WritableStreamDefaultWriter<Uint8Array>,
  bytes: Uint8Array,
  signal: AbortSignal,
  onGone: () => Promise<void>,
): Promise<void> {
  let gone: boolean;
  try {
    await writer.write(bytes.subarray(0, 1));
    await turn();
    gone = signal.aborted;
  } catch {
    // A byte that could not be written is the plainest answer to the probe.
    gone = true;
  }
  if (gone) {
    await onGone();
    await writer.abort("the client has gone").catch(() => undefined);
    return;
  }
  try {
    await writer.write(bytes.subarray(1));
    await writer.close();
  } catch {
    // From here on the reply may have reached the client: it counts as delivered.
  }
}

/** One turn of the event loop: enough for the system to tell of a connection that is closed. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}
