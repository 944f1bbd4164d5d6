import type { LagPage } from "../client/fairlane.ts";
import { pages } from "./pages.ts";
import type { Run } from "./run.ts";

/** Every partition of a group, in order of partition keys. `next` is null unless there are more than one run reads. */
export async function readLag(run: Run, topic: string, group: string): Promise<LagPage> {
  const all: LagPage = { partitions: [], next: null };
  for await (const page of pages((after?: string) => run.fairlane.admin.lag(topic, group, { after }))) {
    all.partitions.push(...page.partitions);
    all.next = page.next;
    run.out.progress(`${all.partitions.length} partitions …`);
  }
  if (all.next !== null) run.out.warn(`only the first ${all.partitions.length} partitions were read`);
  return all;
}
