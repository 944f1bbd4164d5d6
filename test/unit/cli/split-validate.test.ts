import { describe, expect, test } from "vitest";
import { config, KAFKA, manifest, ORDERS, queue } from "../splitting/config/manifest.ts";
import { place } from "./split-place.ts";

const wrong = manifest({
  config: config(ORDERS).replace("managementUrl", "managmentUrl").replace("ORDERS_QUEUE", "ORDER_QUEUE"),
});
const LINES = [
  'app.yaml:10:21: Deployment/worker queues[0].source.env: container "worker" has no variable "ORDER_QUEUE" under env; did you mean ORDERS_QUEUE? [variable-missing]',
  'app.yaml:13:13: Deployment/worker queues[0].rabbitmq.managmentUrl: there is no key "managmentUrl" here; did you mean managementUrl? [key-unknown]',
];

describe("split validate", () => {
  test("prints a line for each queue that can be split, and ends with 0", async () => {
    const kafka = config(queue("orders", "{ env: ORDERS_QUEUE, overrideEnv: SHADOW }", KAFKA));
    const run = place({ "app.yaml": manifest({ config: kafka }) });
    expect(await run("split validate -f app.yaml")).toEqual({
      code: 0,
      stdout: "Deployment/worker\torders\tworker\tkafka\torders\tSHADOW, ORDERS_GROUP\n",
      stderr: "",
    });
    const { stdout } = await run("split validate -f app.yaml", { terminal: true });
    expect(stdout).toContain("WORKLOAD");
  });

  test("prints a line for each problem, with its place, and ends with 2", async () => {
    const run = place({ "app.yaml": wrong });
    expect(await run("split validate -f app.yaml")).toEqual({
      code: 2,
      stdout: `${LINES.join("\n")}\n`,
      stderr: "fairlane: the configuration is not valid: 2 problems\n",
    });
  });

  test("as JSON", async () => {
    const run = place({ "app.yaml": wrong, "good.yaml": manifest() });
    const { code, stdout, stderr } = await run("split validate -f app.yaml --json");
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toEqual({
      valid: false,
      workloads: [
        { kind: "Deployment", name: "worker", namespace: null, file: "app.yaml", valid: false, queues: [] },
      ],
      issues: [
        {
          file: "app.yaml",
          line: 10,
          column: 21,
          workload: "Deployment/worker",
          path: "queues[0].source.env",
          rule: "variable-missing",
          message: 'container "worker" has no variable "ORDER_QUEUE" under env',
          suggestion: "ORDERS_QUEUE",
        },
        expect.objectContaining({ line: 13, rule: "key-unknown", suggestion: "managementUrl" }),
      ],
    });
    expect(JSON.parse(stderr)).toEqual({
      error: { code: "usage", message: "the configuration is not valid: 2 problems", exitCode: 2 },
    });
    const good = await run("split validate -f good.yaml --json");
    expect(good.code).toBe(0);
    expect(JSON.parse(good.stdout)).toMatchObject({
      valid: true,
      workloads: [
        {
          queues: [
            {
              queue: "orders",
              provider: "rabbitmq",
              container: "worker",
              sourceName: "orders",
              overrides: [{ role: "source", variable: "ORDERS_QUEUE" }],
            },
          ],
        },
      ],
      issues: [],
    });
  });

  test("takes several files, a configuration beside them, and stdin", async () => {
    const scaler =
      "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: { name: more }\nspec: { scaleTargetRef: { kind: Deployment, name: worker } }\n";
    const files = {
      "app.yaml": manifest({ config: null }),
      "queues.yaml": config(ORDERS),
      "scaler.yaml": scaler,
    };
    const run = place(files);
    expect((await run("split validate -f app.yaml --config queues.yaml")).code).toBe(0);
    const all = await run("split validate -f app.yaml -f scaler.yaml --config queues.yaml");
    expect(all.stdout).toContain("[workload-autoscaled]");
    expect((await run("split validate -f - --config queues.yaml", { stdin: files["app.yaml"] })).code).toBe(
      0,
    );
    expect((await run("split validate -f app.yaml --config -", { stdin: files["queues.yaml"] })).code).toBe(
      0,
    );
    const named = await run("split validate -f - --config queues.yaml", { stdin: "a: [" });
    expect(named.stdout).toMatch(/^stdin:1:\d+: .*\[yaml-syntax\]\n/);
  });

  test("says how many problems it does not show", async () => {
    const keys = Array.from({ length: 300 }, (_, index) => `k${index}: 1`).join("\n");
    const { code, stdout, stderr } = await place({ "app.yaml": manifest({ config: keys }) })(
      "split validate -f app.yaml",
    );
    expect([code, stdout.split("\n").length - 1]).toEqual([2, 200]);
    expect(stderr).toBe("102 more are not shown\nfairlane: the configuration is not valid: 302 problems\n");
  });

  test.each<[string, string]>([
    ["split", "which command?\n  see: fairlane split --help"],
    ["split validat -f app.yaml", "unknown command 'validat' (Did you mean validate?)"],
    ["split validate", "required option '-f, --file <path>' not specified"],
    ["split validate -f none.yaml", "none.yaml cannot be read (ENOENT)"],
    ["split validate -f .", ". cannot be read (EISDIR)"],
    ["split validate -f - --config -", "only one of the files can be stdin"],
    ["split validate -f - -f -", "only one of the files can be stdin"],
    [`split validate${" -f a".repeat(51)}`, "give at most 50 files"],
  ])("%s is wrong usage", async (line, words) => {
    const { code, stdout, stderr } = await place({})(line);
    expect(stderr).toContain(words);
    expect([code, stdout]).toEqual([2, ""]);
  });

  test("reads no more of a file than it takes", async () => {
    const run = place({
      "big.yaml": new Uint8Array(3 * 1024 * 1024).fill(0x61),
      "app.yaml": manifest({ config: null }),
    });
    expect((await run("split validate -f big.yaml")).stdout).toContain("[input-too-large]");
    expect((await run("split validate -f app.yaml --config big.yaml")).stdout).toContain("[input-too-large]");
  });

  test("what stands in a manifest cannot drive a terminal", async () => {
    const name = '"\\x1b[2Jx"';
    const run = place({ "app.yaml": manifest({ config: `${config(ORDERS)}${name}: 1\n` }) });
    for (const terminal of [false, true]) {
      const { stdout } = await run("split validate -f app.yaml", { terminal, env: { NO_COLOR: "1" } });
      expect(stdout).toContain("key-unknown");
      expect(stdout).not.toContain("\x1b[2J");
    }
  });
});
