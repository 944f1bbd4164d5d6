import { checkApart } from "./check-apart.ts";
import { type CheckedQueue, QueueCheck } from "./check-queue.ts";
import { type Container, readContainer } from "./container-variables.ts";
import { type Path, quoted, type Report } from "./issue.ts";
import { nearestName } from "./nearest-name.ts";
import type { QueueConfig } from "./queue-config.ts";
import { type Autoscaler, GENERATION_ANNOTATION, objectOf, type Workload } from "./read-manifests.ts";
import type { JsonObject } from "./read-yaml.ts";

/**
 * Holds a configuration against the workload that it is for. What stands in the configuration is told by
 * `reportConfig`, what stands in the workload by its own. Answers the queues that are as they must be; only if all are,
 * and nothing was told, the workload can be split.
 */
export function checkWorkload(
  workload: Workload,
  queues: readonly QueueConfig[],
  autoscalers: readonly Autoscaler[],
  reportConfig: Report,
): CheckedQueue[] {
  const { report, object } = workload;
  for (const scaler of autoscalers) if (scales(scaler, workload)) reportAutoscaler(workload, scaler);
  const template = objectOf(objectOf(object.spec)?.template);
  const podSpec = objectOf(template?.spec);
  const containers = podSpec?.containers;
  if (!template || !podSpec || !Array.isArray(containers) || containers.length === 0) {
    report("pod-template", ["spec", "template", "spec", "containers"], "must be a list of containers");
    return [];
  }
  checkTemplateMetadata(template, report);
  const found = new Map<string, Container>();
  const checked: CheckedQueue[] = [];
  for (const queue of queues) {
    const name = containerName(queue, podSpec, reportConfig);
    const container = name === null ? null : containerOf(name, found, podSpec, report);
    if (!container) continue;
    const check = new QueueCheck(queue, container, report, reportConfig);
    check.connections();
    check.tlsSecret(podSpec);
    checked.push({ queue, container, naming: check.naming() });
  }
  checkApart(checked, reportConfig);
  return checked;
}

function scales(scaler: Autoscaler, { kind, name, namespace }: Workload): boolean {
  // Where one names no namespace, it is applied to the same as the other.
  const isNear = scaler.namespace === null || namespace === null || scaler.namespace === namespace;
  return isNear && scaler.targetKind === kind && scaler.targetName === name;
}

function reportAutoscaler({ report }: Workload, { kind, name, file }: Autoscaler): void {
  report(
    "workload-autoscaled",
    ["metadata", "name"],
    `the ${kind} ${quoted(name)} (${file}) scales it: it could start or stop consumers while the source is handed over, ` +
      "and counts messages of a source that a split empties. Take it away for the time of the split",
  );
}

/** Its annotations are what says which override a pod carries. */
function checkTemplateMetadata(template: JsonObject, report: Report): void {
  const path = ["spec", "template", "metadata"];
  const metadata = objectOf(template.metadata);
  if (!metadata) {
    report("pod-template", path, "must be there: its labels are what the workload finds its pods by");
    return;
  }
  const { annotations } = metadata;
  if (annotations === undefined || annotations === null) return;
  const given = objectOf(annotations);
  if (!given) report("pod-template", [...path, "annotations"], "must be a mapping");
  else if (GENERATION_ANNOTATION in given) {
    const message = "the workload is pointed at its shadows already: take the override back first";
    report("already-overridden", [...path, "annotations", GENERATION_ANNOTATION], message);
  }
}

/** The container that a queue is read in, or null after saying why there is none. */
function containerName(queue: QueueConfig, podSpec: JsonObject, report: Report): string | null {
  const path = ["queues", queue.index];
  const names = namesOf(podSpec.containers);
  if (queue.container === null) {
    if (names.length === 1) return names[0] ?? null;
    report("container-needed", path, `the pod has the containers ${names.map(quoted).join(", ")}: name one`);
    return null;
  }
  if (names.includes(queue.container)) return queue.container;
  const isInit = namesOf(podSpec.initContainers).includes(queue.container);
  report(
    "container-unknown",
    [...path, "container"],
    isInit
      ? `${quoted(queue.container)} is an init container: it ends before the application starts`
      : `the pod has no container ${quoted(queue.container)}`,
    nearestName(queue.container, names),
  );
  return null;
}

/** One without a name has an empty one. */
function namesOf(containers: unknown): string[] {
  if (!Array.isArray(containers)) return [];
  return containers.map((container) => {
    const name = objectOf(container)?.name;
    return typeof name === "string" ? name : "";
  });
}

function containerOf(
  name: string,
  found: Map<string, Container>,
  podSpec: JsonObject,
  report: Report,
): Container | null {
  const known = found.get(name);
  if (known) return known;
  const index = namesOf(podSpec.containers).indexOf(name);
  const path: Path = ["spec", "template", "spec", "containers", index];
  const object = objectOf((podSpec.containers as unknown[])[index]);
  if (!object || name === "") {
    report("pod-template", path, "must have a name");
    return null;
  }
  const container = readContainer(object, name, path, report);
  found.set(name, container);
  return container;
}
