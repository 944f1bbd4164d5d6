import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { type BuildOptions, build } from "esbuild";

/**
 * Makes what is not kept in the repository: the dashboard's files as a module of the Worker (`page`), and the client
 * and the command line as a package for Node and Workers, in dist/ (`package`). Without an argument both.
 */
const ROOT = resolve(import.meta.dirname, "..");
const DASHBOARD = resolve(ROOT, "src/dashboard");
const PAGE_MODULE = resolve(DASHBOARD, "assets.generated.ts");

const SHARED = { bundle: true, format: "esm", logLevel: "warning", absWorkingDir: ROOT } as const;

async function buildPage(): Promise<void> {
  const options: BuildOptions = {
    ...SHARED,
    entryPoints: [resolve(DASHBOARD, "main.tsx"), resolve(DASHBOARD, "style.css")],
    outdir: resolve(ROOT, "dist/dashboard"),
    write: false,
    minify: true,
    target: ["es2022"],
    platform: "browser",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "inline",
  };
  const { outputFiles = [] } = await build(options);
  const textOf = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? "";
  const html = readFileSync(resolve(DASHBOARD, "index.html"), "utf8");
  writeFileSync(
    PAGE_MODULE,
    `// Made by scripts/build.ts from src/dashboard.
export const PAGE_HTML: string = ${JSON.stringify(html)};
export const PAGE_SCRIPT: string = ${JSON.stringify(textOf(".js"))};
export const PAGE_STYLE: string = ${JSON.stringify(textOf(".css"))};
`,
  );
}

async function buildPackage(): Promise<void> {
  const out = resolve(ROOT, "dist");
  mkdirSync(out, { recursive: true });
  await build({
    ...SHARED,
    entryPoints: [resolve(ROOT, "src/client/fairlane.ts")],
    outfile: resolve(out, "client.js"),
    target: ["es2022"],
    platform: "neutral",
  });
  await build({
    ...SHARED,
    entryPoints: [resolve(ROOT, "src/cli/main.ts")],
    outfile: resolve(out, "cli.js"),
    target: ["node20"],
    platform: "node",
    // What it bundles may ask for Node's modules by `require`.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
  });
  rmSync(resolve(out, "types"), { recursive: true, force: true });
  const types = spawnSync(
    process.execPath,
    [resolve(ROOT, "node_modules/typescript/bin/tsc"), "-p", resolve(ROOT, "src/client/tsconfig.json")],
    { cwd: ROOT, stdio: "inherit" },
  );
  if (types.status !== 0) throw new Error("the client's declarations were not made");
}

const PARTS: Readonly<Record<string, () => Promise<void>>> = { page: buildPage, package: buildPackage };
const [selection] = process.argv.slice(2);
if (selection !== undefined && !PARTS[selection]) {
  throw new Error(`unknown part ${selection}: one of ${Object.keys(PARTS).join(", ")}`);
}
for (const [name, make] of Object.entries(PARTS))
  if (selection === undefined || selection === name) await make();
