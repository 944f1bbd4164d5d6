import { fail } from "../../core/failure.ts";
import { MAX_REQUEST_BYTES } from "../../core/limits.ts";

/**
 * The request's body, read no further than `maxBytes`, whatever its content-length claims.
 * Fails `payload-too-large` beyond it, `invalid-request` when the body breaks off.
 */
export async function readBody(request: Request, maxBytes = MAX_REQUEST_BYTES): Promise<Uint8Array> {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding !== "identity") {
    fail("invalid-request", "content codings are not supported", {
      issues: [{ path: "content-encoding", message: "must be absent" }],
    });
  }
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > maxBytes) tooLarge(maxBytes);
  if (request.body === null) return new Uint8Array(0);
  const chunks = await readChunks(request.body, maxBytes);
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : joined(chunks);
}

async function readChunks(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array[]> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(brokenOff);
      if (done) return chunks;
      size += value.byteLength;
      if (size > maxBytes) tooLarge(maxBytes);
      chunks.push(value);
    }
  } finally {
    // Whoever answers may want to read the rest away.
    reader.releaseLock();
  }
}

function brokenOff(): never {
  fail("invalid-request", "the request body broke off", {
    issues: [{ path: "", message: "must be sent whole" }],
  });
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((size, chunk) => size + chunk.byteLength, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

function tooLarge(maxBytes: number): never {
  fail("payload-too-large", `the request body has over ${maxBytes} bytes`);
}
