import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { EMBEDDED_FILE, embeddedSchema } from "./schema-source.ts";

const wanted = embeddedSchema();
const isCurrent = existsSync(EMBEDDED_FILE) && readFileSync(EMBEDDED_FILE, "utf8") === wanted;

if (process.argv.includes("--check")) {
  if (!isCurrent) {
    process.stderr.write(`${EMBEDDED_FILE} is stale: run npm run schema:object\n`);
    process.exitCode = 1;
  }
} else if (!isCurrent) {
  writeFileSync(EMBEDDED_FILE, wanted);
}
