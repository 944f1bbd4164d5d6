import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { resourceName } from "../../../src/splitting/state/names.ts";
import { applyJsonPatch } from "../splitting/config/apply-json-patch.ts";
import { config, manifest, ORDERS } from "../splitting/config/manifest.ts";
import { place } from "./split-place.ts";

const identity = {
  prefix: "fairlane",
  kind: "app-shadow",
  tenant: "demo",
  workload: "worker",
  queue: "orders",
  slot: null,
} as const;
const SHADOW = resourceName(identity);
const ENV_PATH = "/spec/template/spec/containers/0/env/0";

describe("split patch", () => {
  test("prints a patch and its inverse, which give the manifest back", async () => {
    const text = manifest();
    const run = place({ "app.yaml": text });
    const [there, back] = [
      await run("split patch -f app.yaml"),
      await run("split patch -f app.yaml --inverse"),
    ];
    expect([there.code, back.code]).toEqual([0, 0]);
    expect(there.stderr).toBe(
      `orders: ORDERS_QUEUE of container worker names ${SHADOW} in place of the source orders\n`,
    );
    expect(back.stderr).toBe(
      "orders: ORDERS_QUEUE of container worker is as it was, the source is orders again\n",
    );
    const patched = applyJsonPatch(parse(text), JSON.parse(there.stdout));
    expect(JSON.stringify(patched)).toContain(SHADOW);
    expect(applyJsonPatch(patched, JSON.parse(back.stdout))).toEqual(parse(text));
  });

  test("as JSON prints both, with what they are made of", async () => {
    const run = place({ "app.yaml": manifest() });
    const { stdout, stderr } = await run(
      "split patch -f app.yaml --json --generation 12 --tenant acme --prefix lent --split shop.worker",
    );
    const shadow = resourceName({ ...identity, prefix: "lent", tenant: "acme", workload: "shop.worker" });
    const reply = JSON.parse(stdout);
    expect(stderr).toBe("");
    expect(reply).toMatchObject({
      workload: { kind: "Deployment", name: "worker", namespace: null },
      tenant: "acme",
      split: "shop.worker",
      prefix: "lent",
      generation: 12,
      overrides: [
        {
          queue: "orders",
          container: "worker",
          role: "source",
          variable: "ORDERS_QUEUE",
          source: "orders",
          shadow,
        },
      ],
    });
    expect(reply.patch).toContainEqual({
      op: "replace",
      path: ENV_PATH,
      value: { name: "ORDERS_QUEUE", value: shadow },
    });
    expect(reply.inverse).toContainEqual({
      op: "replace",
      path: ENV_PATH,
      value: { name: "ORDERS_QUEUE", value: "orders" },
    });
    expect(JSON.stringify(reply.patch)).toContain('"12"');
  });

  test("of several workloads is for the one that is named", async () => {
    const run = place({ "app.yaml": `${manifest()}---\n${manifest({ name: "web" })}` });
    const several = await run("split patch -f app.yaml");
    expect([several.code, several.stdout]).toEqual([2, ""]);
    expect(several.stderr).toContain("name one with --workload: Deployment/worker, Deployment/web");
    const { stdout } = await run("split patch -f app.yaml --workload web");
    expect(JSON.parse(stdout)).toContainEqual({ op: "test", path: "/metadata/name", value: "web" });
  });

  test("of what is not valid is none, with every reason", async () => {
    const text = manifest({
      config: config(ORDERS).replace("ORDERS_QUEUE", "ORDER_QUEUE").replace("version", "verson"),
    });
    const run = place({ "app.yaml": text });
    const { code, stdout, stderr } = await run("split patch -f app.yaml");
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(
      /^fairlane: there is no patch: the configuration is not valid: 2 problems\n {2}app.yaml:7:7: .*\[key-unknown\]\n {2}app.yaml:10:/,
    );
    expect((await run("split patch -f app.yaml", { terminal: true })).stderr).not.toContain("\\x1b");
  });

  test("holds no value of a variable but those that it sets and restores", async () => {
    const env = (value: string) => `- { name: ORDERS_QUEUE, value: orders }
- { name: AMQP_URL, value: "amqp://me:${value}@rabbitmq" }
- { name: RABBITMQ_URL, value: "http://me:${value}@rabbitmq" }
- { name: OTHER, value: ${value} }`;
    const run = place({ "app.yaml": manifest({ env: env("hunter2") }) });
    for (const line of ["split patch -f app.yaml --json", "split validate -f app.yaml --json"]) {
      const { code, stdout, stderr } = await run(line);
      expect(code).toBe(0);
      expect(stdout + stderr).not.toContain("hunter2");
    }
  });

  test.each<[string, string]>([
    ["split patch", "required option '-f, --file <path>' not specified"],
    ["split patch -f app.yaml --generation 0", "Give a whole number from 1"],
    ["split patch -f app.yaml --prefix Lent", "Give at most 16 of a-z, 0-9 and -"],
    ["split patch -f app.yaml --prefix a-label-that-is-too-long", "Give at most 16"],
    ["split patch -f app.yaml --split Worker", "It must match"],
    ["split patch -f app.yaml --tenant ACME", "the tenant's name (--tenant) must match"],
    [`split patch -f long.yaml`, "name the split with --split"],
    ["split patch -f app.yaml --workload other", "[workload-unknown]"],
  ])("%s is wrong usage", async (line, words) => {
    const run = place({ "app.yaml": manifest(), "long.yaml": manifest({ name: "w".repeat(129) }) });
    const { code, stdout, stderr } = await run(line);
    expect(stderr).toContain(words);
    expect([code, stdout]).toEqual([2, ""]);
  });
});
