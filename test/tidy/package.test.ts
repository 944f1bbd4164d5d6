import { execFileSync } from "node:child_process";
import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "./source-files.ts";

// The package as its users get it: built, packed, installed without a network into an empty project, and used there.

const BUILD_DEADLINE_MS = 120_000;

let folder: string;
let project: string;
let packed: string[];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "fairlane-package-"));
  project = join(folder, "project");
  mkdirSync(project);
  writeFileSync(
    join(project, "package.json"),
    JSON.stringify({ name: "user", private: true, type: "module" }),
  );
  execFileSync(process.execPath, [join(ROOT, "scripts/build.ts"), "package"], { cwd: ROOT, stdio: "pipe" });
  const [made] = JSON.parse(npm(["pack", "--json", "--pack-destination", folder], ROOT)) as [
    { filename: string; files: { path: string }[] },
  ];
  packed = made.files.map(({ path }) => path);
  npm(["install", "--offline", join(folder, made.filename)], project);
}, BUILD_DEADLINE_MS);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Scripts stay out of it: they would build once more. Whatever it keeps, it keeps in the test's folder. */
function npm(args: readonly string[], cwd: string): string {
  return execFileSync("npm", [...args, "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, npm_config_cache: join(folder, "npm-cache") },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** The machine's own Node, whatever it is, and not the one of this repository's scripts. */
function otherNode(): string {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((path) => !path.includes("node_modules"));
  return folders.map((path) => join(path, "node")).find(isProgram) ?? process.execPath;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const installed = (path: string) => join(project, "node_modules/fairlane", path);

describe("the package", () => {
  test("holds what runs, its types, and nothing else", () => {
    expect(packed).toEqual(
      expect.arrayContaining(["package.json", "dist/client.js", "dist/cli.js", "bin/fairlane.mjs"]),
    );
    expect(packed).toContain("dist/types/client/fairlane.d.ts");
    const others = packed.filter(
      (path) =>
        !/^(?:README\.md|package\.json|bin\/fairlane\.mjs|dist\/(?:client|cli)\.js|dist\/types\/.*\.d\.ts)$/.test(
          path,
        ),
    );
    expect(others).toEqual([]);
  });

  test("brings no other package along", () => {
    const modules = readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith("."));
    expect(modules).toEqual(["fairlane"]);
  });

  test("is one module for every platform: it imports nothing", () => {
    const text = readFileSync(installed("dist/client.js"), "utf8");
    expect(text.match(/^\s*(?:import\b|export\b.*\bfrom\b).*$/gm) ?? []).toEqual([]);
    expect(text).not.toMatch(/\bimport\(|\brequire\(|node:|\bBuffer\b|\bprocess\./);
  });

  test("its declarations name nothing but themselves", () => {
    const specifiers = packed
      .filter((path) => path.endsWith(".d.ts"))
      .flatMap((path) => [
        ...readFileSync(installed(path), "utf8").matchAll(/\bfrom "([^"]+)"|\bimport\("([^"]+)"\)/g),
      ])
      .map(([, from, dynamic]) => from ?? dynamic ?? "");
    expect(specifiers.length).toBeGreaterThan(10);
    expect(
      specifiers.filter((specifier) => !specifier.startsWith("./") && !specifier.startsWith("../")),
    ).toEqual([]);
  });
});

describe("a program of a user", () => {
  test("publishes and consumes, on the machine's own Node", () => {
    writeFileSync(join(project, "program.js"), PROGRAM);
    const node = otherNode();
    const version = execFileSync(node, ["--version"], { encoding: "utf8" });
    expect(Number(/^v(\d+)/.exec(version)?.[1])).toBeGreaterThanOrEqual(20);
    const printed = execFileSync(node, ["program.js"], { cwd: project, encoding: "utf8" });
    expect(JSON.parse(printed)).toEqual({
      published: { id: "order-1/created", partitionKey: "order-1", duplicate: false },
      consumed: ["order-1/created"],
      settled: ["ack"],
      refused: "not-found",
    });
  });

  test("has the command line", () => {
    const cli = join(project, "node_modules/.bin/fairlane");
    const help = execFileSync(otherNode(), [cli, "--help"], { cwd: project, encoding: "utf8" });
    expect(help).toContain("publish");
  });

  test.each([
    ["NodeNext", "NodeNext"],
    ["ESNext", "bundler"],
  ])("is type-checked with the package's own declarations (%s, %s)", (module, moduleResolution) => {
    writeFileSync(join(project, "program.ts"), TYPED_PROGRAM);
    const compilerOptions = {
      target: "ES2022",
      lib: ["ES2022", "DOM"],
      module,
      moduleResolution,
      types: [],
      strict: true,
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
      noEmit: true,
    };
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
    // Among it are mistakes that must be found.
    expect(typeErrors()).toBe("");
  });
});

function typeErrors(): string {
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  try {
    return execFileSync(process.execPath, [tsc, "-p", project], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

/** Plays the server for one message. */
const PROGRAM = `
import { createServer } from "node:http";
import { Fairlane, FairlaneApiError, messageId } from "fairlane";

const due = [];
const settled = [];
const answers = {
  POST: {
    messages: ({ messages: [{ id, partitionKey, body }] }) => {
      due.push({ receipt: "r", id, topic: "orders", partitionKey, offset: 1, attempt: 1, body,
        contentType: "application/json", headers: {}, publishedAt: 0, visibleUntil: 0, leaseEpoch: 1 });
      return { messages: [{ id, partitionKey, duplicate: false }] };
    },
    receive: () => ({ deliveries: due.splice(0), partitions: [], partitionsHeld: 0 }),
    settle: ({ settlements }) => {
      settled.push(...settlements.map(({ action }) => action));
      stop.abort();
      return { results: settlements.map(({ receipt }) => ({ receipt, status: "ok" })) };
    },
  },
};
const server = createServer(async (request, response) => {
  let text = "";
  for await (const part of request) text += part;
  const answer = answers[request.method]?.[request.url.split("/").at(-1)];
  if (request.method === "DELETE") response.writeHead(204).end();
  else if (answer) response.end(JSON.stringify(answer(JSON.parse(text))));
  else {
    response.writeHead(404, { "content-type": "application/problem+json" });
    response.end(JSON.stringify({ type: "urn:fairlane:not-found", title: "t", status: 404, detail: "d" }));
  }
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));

const stop = new AbortController();
const fairlane = new Fairlane({ url: "http://127.0.0.1:" + server.address().port, tenant: "demo", token: "a.b.c" });
const id = await messageId("order-1", "created");
const published = await fairlane.publish("orders", { id, partitionKey: "order-1", body: { total: 3 } });
const consumed = [];
await fairlane.consume("orders", {
  group: "billing",
  signal: stop.signal,
  handler: (message) => consumed.push(message.id),
});
const refused = await fairlane.admin.getTopic("none").catch((error) => error instanceof FairlaneApiError && error.code);
console.log(JSON.stringify({ published, consumed, settled, refused }));
server.close();
server.closeAllConnections();
`;

const TYPED_PROGRAM = `
import {
  type Explanation,
  Fairlane,
  FairlaneApiError,
  type Filter,
  type GroupSettings,
  type Message,
  messageId,
  PublishError,
} from "fairlane";

interface Order {
  total: number;
}

const stop = new AbortController();
const fairlane = new Fairlane({ url: "http://127.0.0.1:8787", tenant: "demo", token: async () => "token", fetch });
const id: string = await messageId("order-1", "created");
const { duplicate } = await fairlane.publish("orders", { id, body: { total: 3 } satisfies Order });
const again: boolean = duplicate;
await fairlane.publish("orders", { bytes: new Uint8Array(3), contentType: "image/png" }, { signal: stop.signal });
try {
  await fairlane.publishBatch("orders", [{ body: again }]);
} catch (error) {
  if (error instanceof PublishError) for (const { error: failed } of error.results) failed?.message.trim();
  if (error instanceof FairlaneApiError) error.issues.map(({ path }) => path.length + error.status);
  if (error instanceof FairlaneApiError && error.code === "route-overlap") error.witness?.headers.a?.trim();
}
await fairlane.consume<Order>("orders", {
  group: "billing",
  concurrency: 5,
  signal: stop.signal,
  handler: async (message) => {
    const total: number = message.body.total;
    if (total > 5) await message.nack("too much", { delayMs: 1000 });
  },
  onStale: ({ message, action, status }) => [message.body.total, action === "ack", status === "unknown"],
  onError: (error, { phase }) => [error, phase === "handler"],
});
for await (const message of fairlane.messages<Order>("orders", { group: "billing", prefetch: 1 })) {
  const typed: Message<Order> = message;
  if (typed.signal.aborted) break;
}
const filter: Filter = { all: [{ header: "x-dev", equals: "alice" }, { not: { key: { prefix: "test-" } } }] };
await fairlane.consume("orders", { group: "billing", route: { name: "alice", filter, ttlMs: 5000 }, handler: () => {} });
const { routes, application } = await fairlane.admin.listRoutes("orders", "billing");
routes.map(({ route, delivered }) => route.length + delivered + application.backlog);
const explained: Explanation = await fairlane.admin.explain("orders", "billing", { partitionKey: "p", id });
if (explained.blockers[0]?.kind === "lease") explained.blockers[0].epoch.toFixed();
const { retry }: GroupSettings = await fairlane.admin.putGroup("orders", "billing", { retry: { multiplier: 3 } });
retry.maxBackoffMs.toFixed();
// @ts-expect-error: exactly one of body and bytes
await fairlane.publish("orders", { body: 1, bytes: new Uint8Array(1) });
// @ts-expect-error: a route of one's own needs a filter
await fairlane.consume("orders", { group: "billing", route: { name: "alice" }, handler: () => {} });
// @ts-expect-error: a group must be named
await fairlane.consume("orders", { handler: () => {} });
`;
