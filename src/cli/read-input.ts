import { CliError } from "./cli-error.ts";
import { EXIT } from "./exit-codes.ts";

/** All of a stream, which may have at most `maxBytes`. */
export async function readToEnd(input: AsyncIterable<Buffer>, maxBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new CliError(`the input has over ${maxBytes} bytes`, EXIT.usage);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
