import { groupProblem, routeProblem, subscriberProblem, topicProblem } from "../core/names.ts";

/**
 * Paths of the API below one tenant. Names are checked before they are written into a URL: `..` would lead elsewhere.
 * Each throws `TypeError` for a name that cannot exist.
 */
export class Paths {
  readonly tenant: string;

  /** @param tenant a valid name */
  constructor(tenant: string) {
    this.tenant = `/v1/tenants/${tenant}`;
  }

  topic(topic: string, rest = ""): string {
    return `${this.tenant}/topics/${checked("topic", topic, topicProblem)}${rest}`;
  }

  group(topic: string, group: string, rest = ""): string {
    return this.topic(topic, `/groups/${checked("group", group, groupProblem)}${rest}`);
  }

  subscriber(topic: string, group: string, subscriber: string, rest = ""): string {
    return this.group(
      topic,
      group,
      `/subscribers/${checked("subscriber", subscriber, subscriberProblem)}${rest}`,
    );
  }

  route(topic: string, group: string, route: string): string {
    return this.group(topic, group, `/routes/${checked("route", route, routeProblem)}`);
  }
}

export function checked(what: string, name: unknown, problemOf: (name: string) => string | null): string {
  const problem = typeof name === "string" ? problemOf(name) : "must be a string";
  if (problem !== null) throw new TypeError(`the name of the ${what} ${problem}`);
  return name as string;
}
