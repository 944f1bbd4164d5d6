import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { SimulationResult } from "./simulation.ts";
import type { SourcePatch } from "./source-patches.ts";
import type { SuiteName } from "./suites.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const run = promisify(execFile);

export type SeedSummary = Omit<SimulationResult, "lines">;

/** A copy of the product and the simulator with one fault in it. It is what `dispose` removes. */
export class PatchedSource {
  readonly folder: string;

  constructor(patch: SourcePatch) {
    this.folder = mkdtempSync(join(tmpdir(), "fairlane-fault-"));
    for (const part of ["src", "test/sim", "package.json"]) {
      cpSync(join(ROOT, part), join(this.folder, part), { recursive: true });
    }
    symlinkSync(join(ROOT, "node_modules"), join(this.folder, "node_modules"));
    try {
      this.apply(patch);
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  private apply(patch: SourcePatch): void {
    for (const { file, find, replace } of patch.edits) {
      const path = join(this.folder, "src", file);
      const parts = readFileSync(path, "utf8").split(find);
      if (parts.length !== 2) throw new Error(`${file} holds ${parts.length - 1} times: ${find}`);
      writeFileSync(path, parts.join(replace));
    }
  }

  /** Runs the seeds below `count` whose profile's title begins so, until the guarantee is found violated. */
  async runSeeds(count: number, title: string, until: string, suite: SuiteName): Promise<SeedSummary[]> {
    const script = join(this.folder, "test/sim/run-seeds.ts");
    const args = [script, "--count", String(count), "--title", title, "--until", until, "--suite", suite];
    const { stdout } = await run(process.execPath, args, { cwd: this.folder, maxBuffer: MAX_OUTPUT_BYTES });
    return stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as SeedSummary);
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true });
  }
}
