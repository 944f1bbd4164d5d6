import type { OperationId } from "../operations.ts";
import type { ReferenceEntry } from "./entry.ts";
import { observe } from "./observe.ts";
import { operate } from "./operate.ts";
import { publishAndConsume } from "./publish-and-consume.ts";
import { routes } from "./routes.ts";
import { splits } from "./splits.ts";
import { topicsAndGroups } from "./topics-and-groups.ts";

/** Each operation's entry. An operation without one does not compile. */
export const reference: Record<OperationId, ReferenceEntry> = {
  ...publishAndConsume,
  ...topicsAndGroups,
  ...operate,
  ...observe,
  ...routes,
  ...splits,
};
