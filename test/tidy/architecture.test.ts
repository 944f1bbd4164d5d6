import { basename, dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { type Import, importsOf, projectFiles, read, sourceFiles } from "./source-files.ts";

const MAX_LINES = 400;
const CONTRACT = "src/log/message-log.ts";
/** Has the version, which is said in one place. */
const MANIFEST = "package.json";
const PORTS = "src/durable/ports.ts";
/** What the variables say of the log: the Worker, the object and the local server read it. */
const LOG_CONFIG = "src/log/log-config.ts";
/** Pure, like the core: what a filter means and which phase follows which is the same for everybody. */
const FILTERS = "src/splitting/filter/";
const SPLIT_STATE = "src/splitting/state/";
/** The dashboard as the Worker serves it, made by the build. */
const PAGE = "src/dashboard/assets.generated.ts";

interface Rule {
  /** The part that the rule is for: a folder, or one file. */
  of: string;
  /** What may be used when the program runs. */
  values: readonly string[];
  /** What may be named in types beside that. */
  types?: readonly string[];
}

/** The first rule that fits a file counts. A part may always use itself. */
const RULES: readonly Rule[] = [
  { of: "src/core/", values: [] },
  { of: CONTRACT, values: ["src/core/"] },
  { of: "src/protocol/", values: ["src/core/", FILTERS, SPLIT_STATE], types: [CONTRACT] },
  { of: "src/log/object/", values: ["src/core/", CONTRACT], types: [PORTS] },
  { of: "src/log/vitess/", values: ["src/core/", CONTRACT] },
  { of: LOG_CONFIG, values: ["src/core/"], types: ["src/log/vitess/"] },
  // Only what wires a part says which log it is.
  {
    of: "src/log/compose.ts",
    values: ["src/core/", CONTRACT, LOG_CONFIG, "src/log/object/", "src/log/vitess/"],
    types: [PORTS],
  },
  {
    of: "src/durable/tenant-object.ts",
    values: ["src/core/", "src/protocol/", "src/log/", FILTERS, SPLIT_STATE, "src/durable/"],
  },
  {
    of: "src/durable/",
    values: ["src/core/", "src/protocol/", FILTERS, SPLIT_STATE, CONTRACT],
    types: ["src/log/object/"],
  },
  // The entry exports the object's classes, as the platform wants it.
  {
    of: "src/workers/index.ts",
    values: ["src/core/", "src/protocol/", CONTRACT, LOG_CONFIG, PAGE, "src/workers/", "src/durable/"],
  },
  { of: "src/workers/compose.ts", values: ["src/core/", "src/protocol/", "src/log/", "src/workers/"] },
  {
    of: "src/workers/",
    values: ["src/core/", "src/protocol/", CONTRACT, LOG_CONFIG, PAGE],
    types: ["src/durable/"],
  },
  // Its users install no schema library: of the protocol they get the types, and what is small and pure.
  {
    of: "src/client/",
    values: ["src/core/", "src/protocol/base64.ts", "src/protocol/json-spans.ts", "src/protocol/utf8.ts"],
    types: ["src/protocol/", FILTERS],
  },
  { of: "src/cli/", values: ["src/core/", "src/protocol/", "src/client/", "src/splitting/"] },
  // What is built of it is text to the Worker.
  { of: "src/dashboard/", values: ["src/client/"], types: ["src/protocol/"] },
  { of: FILTERS, values: ["src/core/"] },
  { of: SPLIT_STATE, values: ["src/core/", FILTERS] },
  { of: "src/splitting/", values: ["src/core/", "src/protocol/", "src/client/"] },
  { of: "src/gateway/", values: ["src/core/"] },
  // The database is looked for before the server starts.
  { of: "src/local/", values: ["src/core/", "src/protocol/", LOG_CONFIG, "src/log/vitess/"] },
];

const files = sourceFiles();
const imports = new Map(files.map((path) => [path, importsOf(path, read(path))]));

function wrongImports(path: string, found: readonly Import[]): string[] {
  const rule = RULES.find(({ of }) => path.startsWith(of));
  if (!rule) return [`${path} is in no part of the architecture`];
  return found
    .filter((use): use is Import & { path: string } => use.path !== null)
    .filter((use) => {
      const allowed = [rule.of, MANIFEST, ...rule.values, ...(use.typeOnly ? (rule.types ?? []) : [])];
      return !allowed.some((part) => use.path.startsWith(part));
    })
    .map((use) => `${path} uses ${use.path}`);
}

/** One cycle among modules by what is left of their imports at run time, or null. */
function findCycle(graph: ReadonlyMap<string, readonly Import[]>): string[] | null {
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): string[] | null => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return null;
    for (const use of graph.get(path) ?? []) {
      if (use.typeOnly || use.path === null) continue;
      const cycle = visit(use.path, [...trail, path]);
      if (cycle) return cycle;
    }
    done.add(path);
    return null;
  };
  for (const path of graph.keys()) {
    const cycle = visit(path, []);
    if (cycle) return cycle;
  }
  return null;
}

describe("the source", () => {
  test("is found", () => {
    expect(files.length).toBeGreaterThan(10);
    expect(files).toContain(CONTRACT);
  });

  test("imports go downward", () => {
    expect(files.flatMap((path) => wrongImports(path, imports.get(path) ?? []))).toEqual([]);
  });

  test("every relative import names a file, with its extension", () => {
    const present = new Set(projectFiles());
    const missing = [...imports].flatMap(([path, uses]) =>
      uses.filter((use) => use.path !== null && !present.has(use.path)).map((use) => `${path}: ${use.path}`),
    );
    expect(missing).toEqual([]);
  });

  test("has no cycle", () => {
    expect(findCycle(imports)).toBeNull();
  });

  test("the core has no I/O, clock, chance or schema library", () => {
    const impure = /\b(?:await|Date\.now|new Date\(\)|Math\.random|crypto\.|fetch\()|from "zod"/;
    expect(files.filter((path) => path.startsWith("src/core/") && impure.test(read(path)))).toEqual([]);
  });

  test("filters and the states of splits have no I/O, clock or chance", () => {
    const impure = /\b(?:await|Date\.now|new Date\(\)|Math\.random|crypto\.|fetch\()/;
    const pure = files.filter((path) => path.startsWith(FILTERS) || path.startsWith(SPLIT_STATE));
    expect(pure.length).toBeGreaterThan(20);
    expect(pure.filter((path) => impure.test(read(path)))).toEqual([]);
  });

  test(`has no file over ${MAX_LINES} lines`, () => {
    // A generated file is as long as its source, which has no code in it.
    const long = files.filter(
      (path) => !path.endsWith(".generated.ts") && read(path).split("\n").length - 1 > MAX_LINES,
    );
    expect(long).toEqual([]);
  });

  test("names no file or folder for nothing in particular", () => {
    const empty = /(?:^|\/)(?:utils?|helpers?|common|types?|misc)(?:\/|\.[a-z.]+$)/;
    expect(files.filter((path) => empty.test(path))).toEqual([]);
  });

  test("has no barrel", () => {
    const barrels = files.filter((path) => {
      const code = read(path).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
      const rest = code.replace(
        /export\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})\s+from\s+"[^"]+";?/g,
        "",
      );
      return rest.trim() === "" && code.trim() !== "";
    });
    expect(barrels).toEqual([]);
    const indexes = files.filter((path) => basename(path) === "index.ts").map((path) => dirname(path));
    expect(indexes.filter((folder) => folder !== "src/workers")).toEqual([]);
  });
});

describe("the checks themselves", () => {
  const at = (path: string, text: string) => importsOf(path, text);

  test("read every form of import", () => {
    const text = `import type { A } from "../core/a.ts";
import {
  type B,
  c,
} from "./b.ts";
import { type D } from "./d.ts";
import "./e.ts";
export { f } from "./f.ts";
export * from "./g.ts";
const h = await import("./h.ts");
import zod from "zod";`;
    expect(at("src/workers/x.ts", text).map((use) => [use.path ?? use.specifier, use.typeOnly])).toEqual([
      ["src/core/a.ts", true],
      ["src/workers/b.ts", false],
      ["src/workers/d.ts", true],
      ["src/workers/e.ts", false],
      ["src/workers/f.ts", false],
      ["src/workers/g.ts", false],
      ["zod", false],
      ["src/workers/h.ts", false],
    ]);
  });

  test("find an import that goes upward, and a value where only a type may be named", () => {
    const upward = at("src/core/x.ts", 'import { a } from "../protocol/a.ts";');
    expect(wrongImports("src/core/x.ts", upward)).toEqual(["src/core/x.ts uses src/protocol/a.ts"]);
    const value = at("src/workers/x.ts", 'import { TenantObject } from "../durable/tenant-object.ts";');
    expect(wrongImports("src/workers/x.ts", value)).toHaveLength(1);
    const type = at("src/workers/x.ts", 'import type { TenantObject } from "../durable/tenant-object.ts";');
    expect(wrongImports("src/workers/x.ts", type)).toEqual([]);
  });

  test("find a cycle", () => {
    const graph = new Map([
      ["src/a.ts", at("src/a.ts", 'import "./b.ts";')],
      ["src/b.ts", at("src/b.ts", 'import "./c.ts";')],
      ["src/c.ts", at("src/c.ts", 'import "./b.ts";')],
    ]);
    expect(findCycle(graph)).toEqual(["src/b.ts", "src/c.ts", "src/b.ts"]);
  });
});
