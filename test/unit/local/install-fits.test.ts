import { describe, expect, test } from "vitest";
import { installFits } from "../../../scripts/install-fits.mjs";

const entry = (version: string, more: object = {}) => ({ version, integrity: `sha-${version}`, ...more });
const lock = {
  packages: {
    "": { name: "x" },
    "node_modules/a": entry("1.0.0"),
    "node_modules/b": entry("2.0.0", { optional: true }),
  },
};

describe("what is installed", () => {
  test.each([
    ["everything", { "node_modules/a": entry("1.0.0"), "node_modules/b": entry("2.0.0") }, true],
    ["everything but an optional package", { "node_modules/a": entry("1.0.0") }, true],
    ["one package more", { "node_modules/a": entry("1.0.0"), "node_modules/c": entry("3.0.0") }, true],
    ["nothing", {}, false],
    ["another version", { "node_modules/a": entry("1.0.1") }, false],
    ["another content", { "node_modules/a": { version: "1.0.0", integrity: "sha-other" } }, false],
    [
      "another version of an optional package",
      { "node_modules/a": entry("1.0.0"), "node_modules/b": entry("2.1.0") },
      false,
    ],
  ])("%s: fits is judged", (_what, packages, fits) => {
    expect(installFits(lock, { packages })).toBe(fits);
  });

  test("does not fit before the first install, or without a lock file", () => {
    expect([installFits(lock, null), installFits(null, lock)]).toEqual([false, false]);
  });
});
