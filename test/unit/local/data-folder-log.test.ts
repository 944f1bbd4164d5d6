import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { DataFolder } from "../../../src/local/data-folder.ts";
import { StartRefusal } from "../../../src/local/start-refusal.ts";

test("a data folder is for one log: its objects name places in it", () => {
  const path = mkdtempSync(join(tmpdir(), "fairlane-folder-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  for (const kind of ["object", "object"]) {
    const folder = new DataFolder(path);
    folder.claimLog(kind);
    folder.close();
  }
  const folder = new DataFolder(path);
  expect(() => folder.claimLog("vitess")).toThrow(StartRefusal);
  expect(() => folder.claimLog("vitess")).toThrow(/made for MESSAGE_LOG=object/);
  folder.close();
});
