/** Command to the program that Node runs, relative to the project, and its first arguments. */
export const PROGRAMS = {
  start: ["src/local/start.ts"],
  token: ["src/local/token.ts"],
  demo: ["scripts/demo.ts"],
  bench: ["bench/bench.ts"],
  test: ["scripts/test.ts"],
  "test:live": ["scripts/test.ts", "live"],
  "test:long": ["scripts/test.ts", "long"],
  typecheck: ["scripts/typecheck.ts"],
  lint: ["node_modules/@biomejs/biome/bin/biome", "check"],
  format: ["node_modules/@biomejs/biome/bin/biome", "check", "--write"],
  "schema:object": ["scripts/embed-schema.ts"],
  "test:vitess": ["scripts/test.ts", "vitess"],
  gateway: ["scripts/gateway.ts"],
  schema: ["scripts/schema.ts"],
  "lint:shards": ["scripts/lint-shards.ts"],
  build: ["scripts/build.ts"],
  prepack: ["scripts/build.ts"],
  fairlane: ["src/cli/main.ts"],
};

/** Those that need the dashboard's module of the Worker, which is not kept in the repository. */
export const NEED_PAGE = new Set([
  "start",
  "demo",
  "bench",
  "test",
  "test:live",
  "test:long",
  "test:vitess",
  "typecheck",
]);
