import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";

export const ROOT = resolve(import.meta.dirname, "../..");
/** What a clone does not hold: as in .gitignore, and git's own folder. */
const NOT_OURS = new Set([".git", "node_modules", ".fairlane", ".wrangler", "dist"]);

/** Paths of all files of the project below `folder`, relative to the project, with slashes. */
export function projectFiles(folder = "."): string[] {
  const found: string[] = [];
  for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
    if (NOT_OURS.has(entry.name) || entry.name.endsWith(".log")) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...projectFiles(path));
    else if (entry.isFile()) found.push(path.split(sep).join("/"));
  }
  return found.sort();
}

export function sourceFiles(): string[] {
  return projectFiles("src").filter((path) => /\.tsx?$/.test(path));
}

export function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

export interface Import {
  /** As written: a package, or a relative path. */
  specifier: string;
  /** Of the project, for a relative one; otherwise null. */
  path: string | null;
  /** Nothing of it is left when the program runs. */
  typeOnly: boolean;
}

const STATEMENT = /^[ \t]*(?:import|export)\b(?:(?<what>[^"'`;=]*?)\bfrom\b)?\s*"(?<specifier>[^"\n]+)"/gm;
const DYNAMIC = /\bimport\(\s*"(?<specifier>[^"\n]+)"\s*\)/g;

/** Imports and re-exports of a module's text; `path` is the module's own. */
export function importsOf(path: string, text: string): Import[] {
  const imports: Import[] = [];
  const add = (specifier: string, typeOnly: boolean) => {
    const target = specifier.startsWith(".")
      ? relative(ROOT, resolve(ROOT, dirname(path), specifier))
          .split(sep)
          .join("/")
      : null;
    imports.push({ specifier, path: target, typeOnly });
  };
  for (const { groups } of text.matchAll(STATEMENT)) {
    if (groups?.specifier) add(groups.specifier, isTypeOnly(groups.what ?? ""));
  }
  for (const { groups } of text.matchAll(DYNAMIC)) {
    if (groups?.specifier) add(groups.specifier, false);
  }
  return imports;
}

function isTypeOnly(what: string): boolean {
  const words = what.trim();
  if (/^type\b/.test(words)) return true;
  const names =
    /^\{(.*)\}$/s
      .exec(words)?.[1]
      ?.split(",")
      .map((name) => name.trim()) ?? [];
  const given = names.filter((name) => name !== "");
  return given.length > 0 && given.every((name) => name.startsWith("type "));
}
