import { isLabel } from "../state/names.ts";
import { MAX_LABEL_CHARS } from "../state/split-limits.ts";
import type { TextCheck } from "./config-field.ts";
import { quoted } from "./issue.ts";
import { nearestName } from "./nearest-name.ts";
import { SASL_MECHANISMS } from "./queue-config.ts";

/** An object's name in Kubernetes: labels with dots between. */
const MAX_OBJECT_NAME_CHARS = 253;
const OBJECT_NAME = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
/** As Kubernetes takes them for environment variables. */
const MAX_VARIABLE_CHARS = 253;
const VARIABLE = /^[A-Za-z_.-][A-Za-z0-9_.-]*$/;
/** RabbitMQ keeps names as short strings. */
const MAX_VHOST_BYTES = 255;

export function isObjectName(name: string): boolean {
  return name.length <= MAX_OBJECT_NAME_CHARS && OBJECT_NAME.test(name);
}

/** Queues and containers. */
export const labelCheck: TextCheck = (text) => {
  if (isLabel(text)) return null;
  return {
    rule: "name-invalid",
    message: `${quoted(text)} is no RFC 1123 label: at most ${MAX_LABEL_CHARS} of a-z, 0-9 and -, and no - at an end`,
    suggestion: labelOf(text),
  };
};

export const variableCheck: TextCheck = (text) => {
  if (text.length <= MAX_VARIABLE_CHARS && VARIABLE.test(text)) return null;
  const bare = /^\$\(?\{?([A-Za-z_][A-Za-z0-9_]*)[)}]?$/.exec(text)?.[1] ?? null;
  return {
    rule: "variable-name",
    message: "must be the name of an environment variable, and not its value",
    suggestion: bare,
  };
};

export const secretCheck: TextCheck = (text) =>
  isObjectName(text)
    ? null
    : { rule: "secret-name", message: "must be the name of a secret, and not what is in it" };

export const vhostCheck: TextCheck = (text) => {
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > 0 && bytes <= MAX_VHOST_BYTES) return null;
  return { rule: "value-wrong", message: `must have 1 to ${MAX_VHOST_BYTES} bytes` };
};

export const mechanismCheck: TextCheck = (text) => {
  if (SASL_MECHANISMS.some((known) => known === text)) return null;
  const message = `must be one of ${SASL_MECHANISMS.join(", ")}`;
  return { rule: "mechanism-unknown", message, suggestion: nearestName(text, SASL_MECHANISMS) };
};

/** The nearest label, or null where nothing is left. */
function labelOf(text: string): string | null {
  const label = text
    .slice(0, 2 * MAX_LABEL_CHARS)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, MAX_LABEL_CHARS)
    .replace(/-$/, "");
  return label === "" ? null : label;
}
