/** One JSON object a line. Never a body, a token, a secret or a header's value. */
export type LogLevel = "info" | "warn" | "error";

export function logLine(level: LogLevel, event: string, fields: Record<string, unknown> = {}): void {
  const line = JSON.stringify({ level, event, ...fields });
  if (level === "error") console.error(line);
  else if (level === "warn") console.warn(line);
  else console.log(line);
}

/** Bounded: an error's text may be of any length, its stack says where. */
export function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: "a value that is no error was thrown" };
  return { error: error.name, message: error.message.slice(0, 300), stack: error.stack?.slice(0, 2000) };
}
