import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "..");
const SCHEMA_FOLDER = resolve(ROOT, "schema/object");
export const EMBEDDED_FILE = resolve(ROOT, "src/log/object/schema.generated.ts");

/** The module that carries schema/object/*.sql into the bundle, in the order of the files' names. */
export function embeddedSchema(): string {
  const names = readdirSync(SCHEMA_FOLDER)
    .filter((name) => name.endsWith(".sql"))
    .sort();
  const entries = names.map((name) => {
    const sql = readFileSync(resolve(SCHEMA_FOLDER, name), "utf8");
    return `  {\n    name: ${JSON.stringify(name)},\n    sql: ${templateLiteral(sql)},\n  },\n`;
  });
  return `// Made from schema/object/*.sql by \`npm run schema:object\`; change those, not this.

/** Every table of the tenant object, in the order of the files' names. */
export const OBJECT_SCHEMA: readonly { name: string; sql: string }[] = [
${entries.join("")}];
`;
}

function templateLiteral(text: string): string {
  return `\`${text.replace(/[\\`]|\$\{/g, "\\$&")}\``;
}
