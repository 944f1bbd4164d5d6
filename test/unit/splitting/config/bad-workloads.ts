import { BAD_VARIABLES } from "./bad-variables.ts";
import { type BadWorkload, bad } from "./bad-workload.ts";
import { config, ENV, manifest, ORDERS, queue, RABBITMQ } from "./manifest.ts";

const CONTAINER = "spec.template.spec.containers[0]";
const two = "- { name: worker }\n- { name: proxy }";
const withConfig = (...queues: string[]) => manifest({ config: config(...queues) });
const withTls = (more: { container?: string; podSpec?: string } = {}) =>
  manifest({
    config: config(queue("orders", "{ env: ORDERS_QUEUE }", `${RABBITMQ}\n  tls: { secret: rabbitmq-tls }`)),
    ...more,
  });
const scaler = (apiVersion: string, kind: string, target: string) =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: worker }\nspec: { scaleTargetRef: ${target} }\n`;
const HPA = scaler(
  "autoscaling/v2",
  "HorizontalPodAutoscaler",
  "{ apiVersion: apps/v1, kind: Deployment, name: worker }",
);

const WHICH_WORKLOAD: readonly BadWorkload[] = [
  bad("manifest-not-object", "a text", { manifests: [manifest(), "just a text\n"] }, ""),
  bad("manifest-not-object", "no kind", { manifests: [manifest(), "metadata: { name: a }\n"] }, ""),
  bad(
    "manifest-not-object",
    "a list's item",
    { manifests: [manifest(), "apiVersion: v1\nkind: List\nitems: [1]\n"] },
    "",
  ),
  bad(
    "annotation-not-text",
    "a configuration that is no text",
    {
      manifests: [
        manifest(),
        manifest({ name: "other", config: null, annotations: "fairlane.dev/queue-config: { version: 1 }" }),
      ],
    },
    'metadata.annotations["fairlane.dev/queue-config"]',
  ),
  bad(
    "annotation-unknown",
    "a misspelt annotation",
    manifest({ annotations: "fairlane.dev/queue-configs: x" }),
    'metadata.annotations["fairlane.dev/queue-configs"]',
    "fairlane.dev/queue-config",
  ),
  bad(
    "annotation-misplaced",
    "a configuration on the pods",
    manifest({ podMetadata: "annotations: { fairlane.dev/queue-config: x }" }),
    'spec.template.metadata.annotations["fairlane.dev/queue-config"]',
  ),
  bad(
    "input-too-large",
    "a configuration of 100,000 characters",
    manifest({ config: `# ${"x".repeat(100_000)}` }),
    'metadata.annotations["fairlane.dev/queue-config"]',
  ),
  bad("configuration-missing", "no configuration", manifest({ config: null }), ""),
  bad(
    "configuration-twice",
    "an annotation and a file",
    { manifests: [manifest()], config: config(ORDERS) },
    'metadata.annotations["fairlane.dev/queue-config"]',
  ),
  bad(
    "workload-missing",
    "another kind alone",
    "apiVersion: v1\nkind: Service\nmetadata: { name: worker }\n",
    "",
  ),
  bad(
    "workload-unknown",
    "a misspelt workload",
    { manifests: [manifest()], workload: "workr" },
    "",
    "worker",
  ),
  bad("workload-unknown", "the other kind", { manifests: [manifest()], workload: "StatefulSet/worker" }, ""),
  bad(
    "workload-needed",
    "a file for one of two",
    {
      manifests: [manifest({ config: null }), manifest({ config: null, kind: "StatefulSet" })],
      config: config(ORDERS),
    },
    "",
  ),
  bad("workload-kind", "a DaemonSet", { manifests: [manifest(), manifest({ kind: "DaemonSet" })] }, "kind"),
  bad(
    "workload-kind",
    "an old version",
    { manifests: [manifest(), manifest({ apiVersion: "apps/v1beta1" })] },
    "kind",
  ),
  bad("workload-name", "no name", { manifests: [manifest(), manifest({ name: "" })] }, "metadata.name"),
  bad(
    "workload-name",
    "a name that cannot be",
    { manifests: [manifest(), manifest({ name: "Worker" })] },
    "metadata.name",
  ),
  bad("workload-twice", "the same once more", { manifests: [manifest(), manifest()] }, "metadata.name"),
  bad("workload-autoscaled", "an autoscaler", { manifests: [HPA, manifest()] }, "metadata.name"),
  bad(
    "workload-autoscaled",
    "one in a list, beside it",
    {
      manifests: [
        `apiVersion: v1\nkind: List\nitems:\n  - ${HPA.replaceAll("\n", "\n    ")}\n---\n${manifest()}`,
      ],
    },
    "metadata.name",
  ),
  bad(
    "workload-autoscaled",
    "one of KEDA",
    { manifests: [manifest(), scaler("keda.sh/v1alpha1", "ScaledObject", "{ name: worker }")] },
    "metadata.name",
  ),
];

const POD_TEMPLATE: readonly BadWorkload[] = [
  bad("pod-template", "no containers", manifest({ containers: "[]" }), "spec.template.spec.containers"),
  bad("pod-template", "a container without a name", manifest({ containers: "- {}" }), CONTAINER),
  bad("pod-template", "no metadata of pods", manifest({ podMetadata: "" }), "spec.template.metadata"),
  bad(
    "pod-template",
    "annotations that are a list",
    manifest({ podMetadata: "annotations: []" }),
    "spec.template.metadata.annotations",
  ),
  bad(
    "pod-template",
    "a variable without a name",
    manifest({ env: `${ENV}\n- { value: x }` }),
    `${CONTAINER}.env[7]`,
  ),
  bad("container-needed", "two containers", manifest({ containers: two }), "queues[0]"),
  bad(
    "container-unknown",
    "a misspelt container",
    withConfig(queue("orders", "{ env: ORDERS_QUEUE }", "container: wroker", RABBITMQ)),
    "queues[0].container",
    "worker",
  ),
  bad(
    "container-unknown",
    "an init container",
    manifest({
      config: config(queue("orders", "{ env: ORDERS_QUEUE }", "container: set-up", RABBITMQ)),
      podSpec: "initContainers: [{ name: set-up }]",
    }),
    "queues[0].container",
  ),
  bad("tls-secret-unused", "a secret of nobody", withTls(), "queues[0].rabbitmq.tls.secret", "rabbitmq"),
  bad(
    "tls-secret-unused",
    "a volume that is not mounted",
    withTls({ podSpec: "volumes: [{ name: tls, secret: { secretName: rabbitmq-tls } }]" }),
    "queues[0].rabbitmq.tls.secret",
    "rabbitmq",
  ),
  bad(
    "tls-secret-unused",
    "a misspelt secret",
    withTls({
      container: "volumeMounts: [{ name: tls, mountPath: /tls }]",
      podSpec: "volumes: [{ name: tls, secret: { secretName: rabbit-mq-tls } }]",
    }),
    "queues[0].rabbitmq.tls.secret",
    "rabbit-mq-tls",
  ),
  bad(
    "already-overridden",
    "an override that was not taken back",
    manifest({ podMetadata: 'annotations: { fairlane.dev/override-generation: "3" }' }),
    'spec.template.metadata.annotations["fairlane.dev/override-generation"]',
  ),
];

/** Workloads with one mistake each. */
export const BAD_WORKLOADS: readonly BadWorkload[] = [...WHICH_WORKLOAD, ...POD_TEMPLATE, ...BAD_VARIABLES];
