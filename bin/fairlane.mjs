#!/usr/bin/env node
// The command line. In a checkout it runs the sources, so that it is never older than they are; in an installed
// package it runs the bundle.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const sources = new URL("../src/cli/main.ts", import.meta.url);
if (existsSync(fileURLToPath(sources))) {
  process.argv.splice(2, 0, "fairlane");
  await import("../scripts/run.mjs");
} else {
  await import("../dist/cli.js");
}
