import { describe, expect, test } from "vitest";
import { CommandLine } from "../../../src/cli/command-line.ts";
import { Interrupted } from "../../../src/cli/interrupts.ts";
import { fakeShell, runLine } from "./fake-shell.ts";

/** A port that nothing can listen on, so that whoever would send something finds nobody. */
const NOBODY = { FAIRLANE_URL: "http://127.0.0.1:9" };

describe("wrong usage is refused before anything is sent, with exit code 2", () => {
  test.each<[string, string]>([
    ["topcs", "unknown command 'topcs' (Did you mean topics?)"],
    ["topics --bogus", "unknown option '--bogus'"],
    ["topic-stats", "missing required argument 'topic'"],
    ["topic-stats a b", "too many arguments"],
    ["topic-stats Orders", "the topic's name must match"],
    ["lag orders Billing", "the group's name must match"],
    ["topics --tenant ACME", "the tenant's name (--tenant) must match"],
    ["topics --url ftp://host", "the URL (--url) must be like"],
    ["topics --url http://u:p@host", "must not hold a user name or password"],
    ["topics --url http://host?a=b", "must end with its path"],
    ["topics --token a,b", "what --token holds is not a token"],
    ["topics --profile nope", 'there is no profile "nope"'],
    ["topics --url https://queue.example.com", "no tenant is named"],
    ["publish orders --body hello", "the body is not JSON"],
    ["publish orders", "the body is empty"],
    ["publish orders --body 1 --file x", "give --body or --file"],
    ["publish orders --file /nonexistent/x", "/nonexistent/x cannot be read (ENOENT)"],
    ["publish orders --body 1 --key ~x", "--key must not start with ~"],
    ["publish orders --body 1 --delay 8d", "--delay must be at most 7d"],
    ["publish orders --body 1 --delay soon", "Give a duration like 500ms"],
    ["publish orders --body 1 --header novalue", "Give a header as name=value"],
    ["publish orders --body 1 --header A=1 --header a=2", "Header a is given twice"],
    ["publish orders --lines --raw-lines", "give --lines or --raw-lines"],
    ["publish orders --lines --id x", "--id would be the ID of every line"],
    ["publish orders --lines --body 1", "--body does not go together with lines"],
    ["publish orders --lines --content-type a/b", "--content-type does not go together with --lines"],
    ["consume orders", "required option '--group <group>' not specified"],
    ["consume --group g", "missing required argument 'topic'"],
    ["consume", "missing: <topic>, --group <group>"],
    ["consume", "usage: fairlane consume <topic> [command...] --group <group> [options]"],
    ["delete", "missing: <topic>, --key <key>, --id <id>"],
    ["explain orders", "missing: <group>, --key <key>"],
    ["lag", "missing: <topic>, <group>"],
    ["consume orders --group Billing", "must match"],
    ["consume orders --group g --subscriber A", "must match"],
    ["consume orders --group g --concurrency 0", "Give a whole number from 1 to 1000"],
    ["consume orders --group g --concurrency 1001", "Give a whole number from 1 to 1000"],
    ["consume orders --group g --max 0", "Give a whole number from 1"],
    ["consume orders --group g --idle-exit 0s", "Give a duration above 0"],
    ["consume orders --group g --postpone 8d", "--postpone must be at most 7d"],
    ["consume orders --group g --visibility-timeout 13h", "must be from 1s to 12h"],
    ["consume orders --group g --exec true -- true", "give --exec or -- and a command"],
    ["consume orders --group g -- no-such-program-here", "there is no program no-such-program-here"],
    ["consume orders --group g -- ./missing", "there is no program ./missing"],
    ["consume orders --group g --route A", "must match"],
    ["split start orders billing", "missing required argument 'route'"],
    ["split start orders billing Alice x", "the route's name must match"],
    ["split start orders billing alice", "which messages? a filter is missing"],
    ["split start orders billing alice x --all", "give the filter once"],
    ["split start orders billing alice x --filter-file f", "give the filter once"],
    [
      "split start orders billing alice --filter-file /nonexistent/f",
      "/nonexistent/f cannot be read (ENOENT)",
    ],
    ["split start orders billing alice x= ", "the filter x=: at character"],
    ["split start orders billing alice x~=(", "at character 1: matches is no regular expression"],
    ["split start orders billing alice x !x", "the filter x !x: contradicts itself: no message can match it"],
    ['split start orders billing alice {"header":"x"}', 'the filter {"header":"x"}: must have one of exists'],
    [
      'split start orders billing alice {"any":[{"header":"x","equal":"y"}]}',
      "any[0].equal is not a known field: did you mean equals?",
    ],
    ["split start orders billing alice x --ttl 999ms", "--ttl must be from 1 s to 24 h"],
    ["split start orders billing alice x --ttl 25h", "--ttl must be from 1 s to 24 h"],
    ["split start orders billing alice x --run true --detach", "--run and --detach do not go together"],
    ["split renew orders billing alice --ttl 1ms", "--ttl must be from 1 s to 24 h"],
    ["split show orders billing A", "the route's name must match"],
    ["split stop orders", "missing: <group>, <route>"],
    ["split list orders", "missing required argument 'group'"],
    ["tail orders -n 101", "Give a whole number from 0 to 100"],
    ["messages orders --limit 101", "Give a whole number from 1 to 100"],
    ["messages orders --after -1", "Give a whole number from 0"],
    ["messages orders --last 5 --limit 5", "--last stands in place of --after and --limit"],
    ["messages orders --key ~16", "must not start with ~"],
    ["inspect orders", "which message?"],
    ["inspect orders --key k", "which message?"],
    ["inspect orders --id i --offset 1", "which message?"],
    ["redrive orders_dlq --all", "orders_dlq keeps the dead letters of topic orders: name that one"],
    ["purge-dead-letters orders_dlq", "fairlane purge-dead-letters orders"],
    ["inspect orders --key k --id i --raw --json", "--raw and --json do not go together"],
    ["delete orders --key k", "required option '--id <id>' not specified"],
    ["explain orders g --key k", "give exactly one of --id and --offset"],
    ["explain orders g --key k --id i --offset 1", "give exactly one of --id and --offset"],
    ["waiting orders g --limit 101", "Give a whole number from 1 to 100"],
    ["leases orders g --stale-for 1", "Give a duration like 500ms"],
    ["reset-offset orders g --key k", "give exactly one of --offset and --to"],
    ["reset-offset orders g --key k --to 5", "Give one of: earliest, latest"],
    ["reset-offset orders g --key k --offset 1.5", "Give a whole number"],
    ["release-lease orders g", "required option '--key <key>' not specified"],
    ["redrive orders", "which dead letters?"],
    ["redrive orders --id i", "each --id needs its --key"],
    ["redrive orders --id i --key k --all", "--all does not go together with --id"],
    ["groups", "missing required argument 'topic'"],
    ["groups set orders g --strict --max-in-flight 2", "give one of the two"],
    ["groups set orders g --max-attempts 1001", "Give a whole number from 1 to 1000"],
    ["groups set orders g --backoff-multiplier x", "Give a number above 0"],
    ["token", "for which tenant?"],
    ["token --tenant A", "the tenant's name must match"],
    ["token --tenant acme --scope write", "--scope must be some of: publish consume admin"],
    ["token --tenant acme --ttl 5ms", "--ttl must be at least 1s"],
    ["profile set Prod --url https://h", "the profile's name must match"],
    ["profile set prod", "nothing to save"],
    ["profile set prod --url nope", "the URL (--url) must be like"],
    ["profile set prod --tenant A", "the tenant's name must match"],
    ["profile set prod --token t --token-stdin", "give --token or --token-stdin"],
  ])("%s", async (line, words) => {
    const { code, stdout, stderr } = await runLine(line.split(" "), { env: NOBODY });
    expect(stderr).toContain(words);
    expect(code).toBe(2);
    expect(stdout).toBe("");
  });

  test("names the command to read about", async () => {
    expect((await runLine(["groups", "set", "--bogus"])).stderr).toContain("see: fairlane groups set --help");
    expect((await runLine(["bogus"])).stderr).toContain("see: fairlane --help");
  });

  test("as JSON where that is asked for, and not where it is a program's argument", async () => {
    const { code, stderr } = await runLine(["topics", "--bogus", "--json"]);
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: "usage",
        message: "unknown option '--bogus'",
        exitCode: 2,
        hint: "see: fairlane topics --help",
      },
    });
    const plain = await runLine(["consume", "orders", "--group", "G", "--", "x", "--json"]);
    expect(plain.stderr).toMatch(/^fairlane: option/);
  });

  test("of a secret nothing is repeated", async () => {
    const flags = await runLine(["topics", "--token", "sec ret"]);
    expect(flags.stderr).not.toContain("sec ret");
    const variable = await runLine(["topics"], { env: { ...NOBODY, FAIRLANE_TOKEN: "sec ret" } });
    expect(variable.stderr).not.toContain("sec ret");
    const url = await runLine(["topics", "--url", "https://me:hidden@host"]);
    expect(url.stderr).not.toContain("hidden");
  });
});

describe("a terminal", () => {
  test("without a body there says so, in place of waiting for one", async () => {
    const { code, stderr } = await runLine(["publish", "orders"], { terminal: true });
    expect(stderr).toContain("there is no body");
    expect(code).toBe(2);
  });
});

describe("an interruption", () => {
  test("ends what waits for its input, with exit code 130 and without a word", async () => {
    const interruption = new AbortController();
    const shell = fakeShell({ env: NOBODY });
    const running = new CommandLine(shell, interruption.signal).run(["publish", "orders"]);
    interruption.abort(new Interrupted());
    expect(await running).toBe(130);
    expect(shell.written).toEqual({ stdout: "", stderr: "" });
  });
});

describe("where no server answers", () => {
  test("says what to do, with exit code 5", async () => {
    const { code, stderr } = await runLine(["topics"], { env: { FAIRLANE_URL: "http://127.0.0.1:2" } });
    expect(stderr).toMatch(
      /no server answers at http:\/\/127.0.0.1:2.*\n {2}start one with npm start, or name another/,
    );
    expect(code).toBe(5);
  });
});
