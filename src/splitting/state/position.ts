import { z } from "zod";
import { MAX_POSITION_BYTES } from "./split-limits.ts";

/** A checkpoint or a frontier where it comes in: text that only its engine reads, bounded in bytes as the document is. */
export const position = z
  .string()
  .min(1)
  // No text has fewer bytes than units: most that are too long are not counted.
  .max(MAX_POSITION_BYTES)
  .refine((text) => new TextEncoder().encode(text).length <= MAX_POSITION_BYTES, {
    error: `must have at most ${MAX_POSITION_BYTES} bytes`,
  });
