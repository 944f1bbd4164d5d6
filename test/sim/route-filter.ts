import type { Filter, Test } from "../../src/splitting/filter/filter.ts";

/** What a filter of the simulator's developers means, told anew: the product's own matching is what is audited. */
export function takes(filter: Filter, message: { headers: string; partitionKey: string }): boolean {
  if ("all" in filter) return filter.all.every((part) => takes(part, message));
  if ("any" in filter) return filter.any.some((part) => takes(part, message));
  if ("not" in filter) return !takes(filter.not, message);
  if ("everything" in filter) return true;
  if ("key" in filter) return holds(filter.key, message.partitionKey);
  if ("baggage" in filter) throw new Error("no developer filters by baggage");
  const headers: unknown = message.headers === "" ? {} : JSON.parse(message.headers);
  return holds(filter, (headers as Record<string, string | undefined>)[filter.header]);
}

function holds(test: Test, value: string | undefined): boolean {
  if ("exists" in test) return test.exists === (value !== undefined);
  if (value === undefined) return false;
  if ("equals" in test) return value === test.equals;
  if ("in" in test) return test.in.includes(value);
  if ("prefix" in test) return value.startsWith(test.prefix);
  throw new Error("no developer filters by an expression");
}
