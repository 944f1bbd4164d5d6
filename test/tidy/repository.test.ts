import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PROGRAMS } from "../../scripts/programs.mjs";
import { EMBEDDED_FILE, embeddedSchema } from "../../scripts/schema-source.ts";
import { COMPATIBILITY_DATE, COMPATIBILITY_FLAGS, OBJECT_CLASSES } from "../../src/local/workerd-config.ts";
import { projectFiles, ROOT, read } from "./source-files.ts";

/** Words are put together here, so that this file does not hold what it looks for. */
const FORBIDDEN: readonly [string, RegExp][] = [
  [
    "a home folder",
    new RegExp(`/(?:${["ho", "Us"].map((half) => half + (half === "ho" ? "me" : "ers")).join("|")})/[a-z]`),
  ],
  ["a folder beside the checkout", new RegExp(`/${"wo"}rk/|\\.\\./${"sha"}red/`)],
  ["a package registry", new RegExp(`registry\\.${"npm"}js|/${"arti"}factory/|${"verd"}accio`, "i")],
  ["an issue by its number", new RegExp(`\\b${"iss"}ue #?[0-9]`, "i")],
  [
    "who wrote it",
    new RegExp(`${"cla"}ude|${"anth"}ropic|\\b${"sub"}agents?\\b|\\bco-${"auth"}ored-by`, "i"),
  ],
  ["how it was made", new RegExp(`\\bthe ${"arch"}itect\\b|\\b(?:${"as"}signment|${"time"} box)\\b`, "i")],
];

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  scripts: Record<string, string>;
}
interface LockedPackage {
  version?: string;
  resolved?: string;
  integrity?: string;
  optionalDependencies?: Record<string, string>;
  link?: boolean;
}
const manifest = JSON.parse(read("package.json")) as Manifest;
const lock = JSON.parse(read("package-lock.json")) as { packages: Record<string, LockedPackage & Manifest> };
const EXACT = /^[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?$/;

describe("the repository", () => {
  test.each(FORBIDDEN)("does not name %s", (_what, pattern) => {
    const found = projectFiles().flatMap((path) =>
      read(path)
        .split("\n")
        .flatMap((line, index) =>
          pattern.test(line) ? [`${path}:${index + 1}: ${line.trim().slice(0, 100)}`] : [],
        ),
    );
    expect(found).toEqual([]);
  });

  test("holds no path of the machine it stands on", () => {
    const paths = [ROOT, homedir()].filter((path) => path.split("/").filter(Boolean).length > 1);
    expect(projectFiles().filter((path) => paths.some((own) => read(path).includes(own)))).toEqual([]);
  });

  test("patterns find what they are for", () => {
    const samples = ["/ho", "/wo", "registry.", "See iss", "Co-Auth", "as the arch"];
    const rests = ["me/ann", "rk/main", "npmjs.org", "ue 12", "ored-By: x", "itect said"];
    for (const [index, [what, pattern]] of FORBIDDEN.entries()) {
      expect(pattern.test(`${samples[index]}${rests[index]}`), what).toBe(true);
    }
  });
});

describe("the packages", () => {
  test("are asked for by exact version", () => {
    const asked = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter(([, version]) => !EXACT.test(version))).toEqual([]);
  });

  test("are locked to what is asked for", () => {
    expect(lock.packages[""]?.dependencies).toEqual(manifest.dependencies);
    expect(lock.packages[""]?.devDependencies).toEqual(manifest.devDependencies);
    for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
      expect(lock.packages[`node_modules/${name}`]?.version, name).toBe(version);
    }
  });

  test("are locked by content, and not to a host", () => {
    const locked = Object.entries(lock.packages).filter(([path]) => path !== "");
    expect(locked.filter(([, entry]) => !EXACT.test(entry.version ?? "") || !entry.integrity)).toEqual([]);
    expect(locked.filter(([, entry]) => entry.resolved !== undefined || entry.link)).toEqual([]);
  });

  test("are all locked, also those that only other systems install", () => {
    // One that the lock file lacks, such as one that was never published, makes every clean install fail.
    const missing = Object.entries(lock.packages).flatMap(([path, entry]) =>
      Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }).filter(
        (name) =>
          !Object.keys(lock.packages).some(
            (other) => other.endsWith(`node_modules/${name}`) && path !== other,
          ),
      ),
    );
    expect(missing).toEqual([]);
  });

  test("come in one version of the runtime and its tools", () => {
    for (const name of ["workerd", "wrangler", "miniflare"]) {
      const places = Object.keys(lock.packages).filter((path) => path.endsWith(`node_modules/${name}`));
      expect(places).toEqual([`node_modules/${name}`]);
    }
  });
});

describe("what stands in two places", () => {
  test("the embedded schema is that of schema/object", () => {
    expect(readFileSync(EMBEDDED_FILE, "utf8"), "stale: run npm run schema:object").toBe(embeddedSchema());
  });

  test("wrangler.toml and the local server have the same runtime and objects", () => {
    const toml = read("wrangler.toml");
    expect(toml).toContain(`compatibility_date = "${COMPATIBILITY_DATE}"`);
    expect(toml).toContain(`compatibility_flags = ${JSON.stringify(COMPATIBILITY_FLAGS)}`);
    for (const [binding, className] of Object.entries(OBJECT_CLASSES)) {
      expect(toml).toContain(`name = "${binding}"\nclass_name = "${className}"`);
    }
  });

  test("every npm script goes through the one that installs first", () => {
    for (const [name, command] of Object.entries(manifest.scripts)) {
      expect(command).toBe(`node scripts/run.mjs ${name}`);
    }
    expect(Object.keys(PROGRAMS).sort()).toEqual(Object.keys(manifest.scripts).sort());
  });

  test.each(Object.entries(PROGRAMS))("npm run %s has its program", (_name, [program]) => {
    expect(existsSync(join(ROOT, program)), program).toBe(true);
  });
});
