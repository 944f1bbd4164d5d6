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
  return announced > 0 ? readWhole(request, maxBytes) : readStream(request.body, maxBytes);
}

/** The announced length frames the request on the wire: the platform reads no further, and does it fastest. */
async function readWhole(request: Request, maxBytes: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(await request.arrayBuffer().catch(brokenOff));
  if (bytes.byteLength > maxBytes) tooLarge(maxBytes);
  return bytes;
}

/** Room for the first read where nothing is known of the length. */
const UNANNOUNCED_BYTES = 16 * 1024;

/**
 * Reads into a buffer of its own: the platform hands a plain reader 4 KiB at a time, which makes a large
 * batch five times slower. One byte more than expected is room to notice the end, or a lie.
 */
async function readStream(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const reader = body.getReader({ mode: "byob" });
  let buffer = new Uint8Array(Math.min(UNANNOUNCED_BYTES, maxBytes) + 1);
  let size = 0;
  try {
    for (;;) {
      // A read takes the buffer away and gives it back under a new name.
      const { done, value } = await reader.read(buffer.subarray(size)).catch(brokenOff);
      if (value === undefined) brokenOff();
      buffer = new Uint8Array(value.buffer);
      if (done) return buffer.subarray(0, size);
      size += value.byteLength;
      if (size > maxBytes) tooLarge(maxBytes);
      if (size === buffer.length) buffer = enlarged(buffer, maxBytes);
    }
  } finally {
    // Whoever answers may want to read the rest away.
    reader.releaseLock();
  }
}

function enlarged(buffer: Uint8Array, maxBytes: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.min(2 * buffer.length, maxBytes + 1));
  larger.set(buffer);
  return larger;
}

function brokenOff(): never {
  fail("invalid-request", "the request body broke off", {
    issues: [{ path: "", message: "must be sent whole" }],
  });
}

function tooLarge(maxBytes: number): never {
  fail("payload-too-large", `the request body has over ${maxBytes} bytes`);
}
