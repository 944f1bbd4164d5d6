import { isDeepStrictEqual } from "node:util";
import type { PatchOperation } from "../../../../src/splitting/config/patch.ts";

type Container = Record<string, unknown> | unknown[];

/**
 * RFC 6902, written from the document and apart from what makes patches, for the operations that they have. Throws
 * where an operation fails; then nothing was changed, as nothing ever is of the document that is given.
 */
export function applyJsonPatch(document: unknown, patch: readonly PatchOperation[]): unknown {
  const root = { "": structuredClone(document) };
  for (const operation of patch) applyOne(root, operation);
  return root[""];
}

function applyOne(root: Container, operation: PatchOperation): void {
  const steps = ["", ...operation.path.split("/").slice(1).map(unescaped)];
  const last = steps.pop() as string;
  let parent = root;
  for (const step of steps) parent = containerAt(parent, step, operation.path);
  if (operation.op === "add") {
    add(parent, last, structuredClone(operation.value), operation.path);
    return;
  }
  const key = existing(parent, last, operation.path);
  const own = parent as Record<string | number, unknown>;
  if (operation.op === "test") {
    if (!isDeepStrictEqual(own[key], structuredClone(operation.value)))
      throw new Error(`test failed: ${operation.path}`);
  } else if (operation.op === "replace") own[key] = structuredClone(operation.value);
  else if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete own[key];
}

function add(parent: Container, last: string, value: unknown, path: string): void {
  if (!Array.isArray(parent)) {
    parent[last] = value;
    return;
  }
  const index = last === "-" ? parent.length : indexOf(last, path);
  if (index > parent.length) throw new Error(`out of bounds: ${path}`);
  parent.splice(index, 0, value);
}

function containerAt(parent: Container, step: string, path: string): Container {
  const value = (parent as Record<string | number, unknown>)[existing(parent, step, path)];
  if (typeof value !== "object" || value === null) throw new Error(`nothing is in it: ${path}`);
  return value as Container;
}

function existing(parent: Container, step: string, path: string): string | number {
  const key = Array.isArray(parent) ? indexOf(step, path) : step;
  if (!Object.hasOwn(parent, key)) throw new Error(`not there: ${path}`);
  return key;
}

function indexOf(step: string, path: string): number {
  if (!/^(?:0|[1-9][0-9]*)$/.test(step)) throw new Error(`no index: ${path}`);
  return Number(step);
}

function unescaped(step: string): string {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}
