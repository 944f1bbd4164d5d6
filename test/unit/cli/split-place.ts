import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { runLine } from "./fake-shell.ts";

/** A folder with these files, and the command line in it, with no server and no token anywhere. */
export function place(files: Readonly<Record<string, string | Uint8Array>>) {
  const cwd = mkdtempSync(join(tmpdir(), "fairlane-split-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  return (line: string, options: Parameters<typeof runLine>[1] = {}) =>
    runLine(line.split(" "), { env: { FAIRLANE_DATA: join(cwd, "none") }, cwd, ...options });
}
