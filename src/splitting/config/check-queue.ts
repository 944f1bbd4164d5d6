import { MAX_SOURCE_NAME_CHARS } from "../state/split-limits.ts";
import { type Container, type ContainerVariable, secretsOf } from "./container-variables.ts";
import { type Path, quoted, type Report, type Rule } from "./issue.ts";
import { nearestName } from "./nearest-name.ts";
import {
  connectionVariables,
  type NamingVariable,
  namingVariables,
  type QueueConfig,
} from "./queue-config.ts";
import type { JsonObject } from "./read-yaml.ts";

/** A queue whose place in the pod template is known. */
export interface CheckedQueue {
  queue: QueueConfig;
  container: Container;
  /** The source, and with Kafka the group. */
  naming: CheckedNaming[];
}

export interface CheckedNaming {
  role: NamingVariable["role"];
  /** The variable that names it, and what it says. */
  named: ContainerVariable;
  value: string;
  overrideEnv: string;
  /** The variable that is overridden, where the container has it. */
  override: ContainerVariable | null;
}

/** The checks of one queue in its container. */
export class QueueCheck {
  readonly #queue: QueueConfig;
  readonly #path: Path;
  readonly #container: Container;
  readonly #report: Report;
  readonly #reportConfig: Report;

  constructor(queue: QueueConfig, container: Container, report: Report, reportConfig: Report) {
    this.#queue = queue;
    this.#path = ["queues", queue.index];
    this.#container = container;
    this.#report = report;
    this.#reportConfig = reportConfig;
  }

  /** The variables that name the source and the group, and those that are overridden instead. */
  naming(): CheckedNaming[] {
    const checked: CheckedNaming[] = [];
    for (const { env, overrideEnv, path, role } of namingVariables(this.#queue)) {
      const named = this.#variable(env, [...this.#path, ...path, "env"]);
      const value = named && this.#literal(named);
      const override = this.#container.variables.get(overrideEnv) ?? null;
      if (override && overrideEnv !== env) this.#checkUnused(override);
      if (named && value !== null) checked.push({ role, named, value, overrideEnv, override });
    }
    return checked;
  }

  connections(): void {
    for (const { env, path, secret } of connectionVariables(this.#queue)) {
      const variable = this.#variable(env, [...this.#path, ...path]);
      if (variable) this.#checkConnection(variable, secret);
    }
  }

  /** The agent is given no secret that the application has not. */
  tlsSecret(podSpec: JsonObject): void {
    const { provider, tlsSecret } = this.#queue.broker;
    if (tlsSecret === null) return;
    const used = secretsOf(this.#container, podSpec);
    if (used.has(tlsSecret)) return;
    this.#reportConfig(
      "tls-secret-unused",
      [...this.#path, provider, "tls", "secret"],
      `container ${quoted(this.#container.name)} uses no secret ${quoted(tlsSecret)}: mount it, or take a variable from it`,
      nearestName(tlsSecret, used),
    );
  }

  /** The variable, or null after saying that there is none. */
  #variable(env: string, at: Path): ContainerVariable | null {
    const { name, variables, hasEnvFrom } = this.#container;
    const variable = variables.get(env);
    if (variable) return variable;
    const lacks = `container ${quoted(name)} has no variable ${quoted(env)} under env`;
    const meant = nearestName(env, variables.keys());
    if (!hasEnvFrom) this.#reportConfig("variable-missing", at, lacks, meant);
    else {
      const why = `${lacks}, and what envFrom brings cannot be seen here: name it there`;
      this.#reportConfig("variable-from-env-from", at, why, meant);
    }
    return null;
  }

  /** The value of a variable that must say by itself what it names. */
  #literal({ name, source, path }: ContainerVariable): string | null {
    const say = (rule: Rule, step: readonly string[], message: string) => {
      this.#report(rule, [...path, ...step], message);
      return null;
    };
    if (source.kind === "not-text") return say("variable-not-text", ["value"], NOT_TEXT);
    if (source.kind !== "literal") {
      const message = `the value of ${quoted(name)} must stand here: a split has to know it, and to give it back`;
      return say("variable-not-literal", ["valueFrom"], message);
    }
    if (source.value === "") return say("variable-empty", ["value"], `${quoted(name)} is empty`);
    if (source.value.includes("$(")) {
      return say(
        "variable-expanded",
        ["value"],
        `${quoted(name)} is made of other variables by $(…): write it out`,
      );
    }
    if (source.value.length > MAX_SOURCE_NAME_CHARS || /[\p{Cc}\p{Cs}]/u.test(source.value)) {
      const message = `${quoted(name)} must have at most ${MAX_SOURCE_NAME_CHARS} characters, and no control characters`;
      return say("source-name", ["value"], message);
    }
    return source.value;
  }

  /** A value would be read before the source's own: then it is not the source that is configured. */
  #checkUnused({ name, source, path }: ContainerVariable): void {
    if (source.kind === "literal" && source.value === "") return;
    this.#report(
      "override-in-use",
      path,
      `${quoted(name)} has a value already: the variable that takes a shadow's name must be absent or empty without a split`,
    );
  }

  #checkConnection({ name, source, path }: ContainerVariable, secret: boolean): void {
    const from = [...path, "valueFrom"];
    if (source.kind === "not-text") this.#report("variable-not-text", [...path, "value"], NOT_TEXT);
    else if (source.kind === "other") {
      const message = `${quoted(name)} comes by ${source.by}: take it from a secret or a config map, or write it out`;
      this.#report("connection-reference", from, message);
    } else if (secret && source.kind !== "secret") {
      this.#report(
        "sasl-not-secret",
        path,
        `${quoted(name)} is a password: take it from a secret by secretKeyRef`,
      );
    } else if (source.kind === "literal") {
      if (source.value === "") this.#report("variable-empty", [...path, "value"], `${quoted(name)} is empty`);
      if (source.value.includes("$(")) {
        const message = `${quoted(name)} is made of other variables by $(…), which the queue agent does not have`;
        this.#report("connection-expanded", [...path, "value"], message);
      }
    } else if (!source.isWhole) {
      this.#report("reference-incomplete", from, "must have a name and a key");
    }
  }
}

const NOT_TEXT = "must be a text: put it in quotes";
