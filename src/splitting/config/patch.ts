import type { CheckedQueue } from "./check-queue.ts";
import type { Container } from "./container-variables.ts";
import { GENERATION_ANNOTATION, objectOf } from "./read-manifests.ts";
import type { JsonObject } from "./read-yaml.ts";
import type { CheckedWorkload } from "./validate.ts";

/** An operation of a JSON Patch, RFC 6902. */
export type PatchOperation =
  | { op: "test" | "add" | "replace"; path: string; value: unknown }
  | { op: "remove"; path: string };

/** A variable that leads an application to its shadow. */
export interface Override {
  queue: string;
  container: string;
  role: "source" | "group";
  variable: string;
  /** What the application reads without the override. */
  source: string;
  shadow: string;
}

export interface OverridePatch {
  overrides: Override[];
  /** Points the application at its shadows. It fails whole where the workload is not the one it was made of. */
  patch: PatchOperation[];
  /** Gives the workload back as it was. It fails whole where `patch` was not applied, or what it set was changed. */
  inverse: PatchOperation[];
}

export interface PatchInput {
  /** Tells this override from those before and after it: a whole number from 1. */
  generation: number;
  /** The name of a queue's shadow. */
  shadowOf: (queue: string) => string;
}

const TEMPLATE = "/spec/template";
/** Never in what comes of a patch. */
const LENGTH_PROBE = "FAIRLANE_NO_MORE_VARIABLES";
const CONTAINERS = `${TEMPLATE}/spec/containers`;

/**
 * The override of a valid workload, and its inverse. JSON Patch and no strategic merge: that one cannot say what must
 * have been there before, and what it takes away it does not put back. A test stands before every change, also of
 * what must be absent: there the test is of what it would be in.
 */
export function overridePatch(
  { workload, queues, valid }: CheckedWorkload,
  input: PatchInput,
): OverridePatch {
  if (!valid) throw new Error("an override is made of a valid workload only");
  const guards: PatchOperation[] = [
    test("/kind", workload.kind),
    test("/metadata/name", workload.name),
    ...[...new Set(queues.map(({ container }) => container))].map(({ index, name }) =>
      test(`${CONTAINERS}/${index}/name`, name),
    ),
  ];
  const steps = [...queues.flatMap(sourceGuards), ...variableSteps(queues, input.shadowOf)];
  steps.push(annotationStep(workload.object, String(input.generation)));
  return {
    overrides: queues.flatMap((queue) => overridesOf(queue, input.shadowOf(queue.queue.name))),
    patch: [...guards, ...steps.flatMap(({ forward }) => forward)],
    inverse: [...guards, ...steps.toReversed().flatMap(({ back }) => back)],
  };
}

/** A change and how it is taken back. */
interface Step {
  forward: PatchOperation[];
  back: PatchOperation[];
}

function overridesOf({ queue, container, naming }: CheckedQueue, shadow: string): Override[] {
  return naming.map(({ role, value, overrideEnv }) => ({
    queue: queue.name,
    container: container.name,
    role,
    variable: overrideEnv,
    source: value,
    shadow,
  }));
}

/** Where another variable is overridden, the source's own is still what the split was made for. */
function sourceGuards({ container, naming }: CheckedQueue): Step[] {
  return naming
    .filter(({ named, overrideEnv }) => named.name !== overrideEnv)
    .map(({ named }) => ({ forward: [test(envPath(container, named.index), named.entry)], back: [] }));
}

/** Variables that are there are replaced in place; the others come behind all that are there, so that no index moves. */
function variableSteps(queues: readonly CheckedQueue[], shadowOf: PatchInput["shadowOf"]): Step[] {
  const added = new Map<Container, number>();
  const steps = queues.flatMap(({ queue, container, naming }) =>
    naming.map(({ overrideEnv, override }): Step => {
      const value = { name: overrideEnv, value: shadowOf(queue.name) };
      if (override) {
        const path = envPath(container, override.index);
        return {
          forward: [test(path, override.entry), { op: "replace", path, value }],
          back: [test(path, value), { op: "replace", path, value: override.entry }],
        };
      }
      const before = added.get(container) ?? 0;
      added.set(container, before + 1);
      const path = envPath(container, container.envLength + before);
      return {
        forward: [{ op: "add", path: envPath(container, "-"), value }, test(path, value)],
        back: [test(path, value), { op: "remove", path }],
      };
    }),
  );
  const others = [...new Set(queues.map(({ container }) => container))].filter((one) => !added.has(one));
  return [...others.map(lengthGuard), ...steps];
}

/**
 * A variable that came behind those that are known could be of the same name, and would be the one that counts. No
 * operation tests a length: what is added last stands at the index that it must have only if nothing came.
 */
function lengthGuard(container: Container): Step {
  const path = envPath(container, container.envLength);
  const value = { name: LENGTH_PROBE };
  const add: PatchOperation = { op: "add", path: envPath(container, "-"), value };
  return { forward: [add, test(path, value), { op: "remove", path }], back: [] };
}

/** On the pods, so that each says which override it was started with. */
function annotationStep(object: JsonObject, generation: string): Step {
  const metadata = objectOf(objectOf(objectOf(object.spec)?.template)?.metadata) ?? {};
  const path = `${TEMPLATE}/metadata/annotations`;
  const own = `${path}/${escaped(GENERATION_ANNOTATION)}`;
  const { annotations } = metadata;
  if (objectOf(annotations)) {
    return {
      forward: [test(path, annotations), { op: "add", path: own, value: generation }],
      back: [test(own, generation), { op: "remove", path: own }],
    };
  }
  const value = { [GENERATION_ANNOTATION]: generation };
  const isAbsent = annotations === undefined;
  return {
    forward: [test(`${TEMPLATE}/metadata`, metadata), { op: "add", path, value }],
    back: [test(path, value), isAbsent ? { op: "remove", path } : { op: "replace", path, value: null }],
  };
}

function test(path: string, value: unknown): PatchOperation {
  return { op: "test", path, value };
}

function envPath(container: Container, index: number | "-"): string {
  return `${CONTAINERS}/${container.index}/env/${index}`;
}

/** A key as a step of a JSON Pointer, RFC 6901. */
function escaped(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
