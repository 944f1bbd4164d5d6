import { fail } from "../../core/failure.ts";
import { DEFAULT_GROUP_SETTINGS, type GroupSettings } from "../../core/settings.ts";
import type { GroupRef, GroupView, PutGroupInput } from "../../protocol/tenant-calls.ts";
import type { Tenant } from "../tenant.ts";

/** Creates the group or changes its settings: written to the log first, then adopted. */
export function putGroup(tenant: Tenant, input: PutGroupInput): Promise<GroupView> {
  return tenant.changeSettings(() => putInTurn(tenant, input));
}

async function putInTurn(tenant: Tenant, input: PutGroupInput): Promise<GroupView> {
  const state = await tenant.ensureTopic(input.topic);
  let known = await tenant.group(input.topic, input.group);
  if (!known) {
    const settings = merge(DEFAULT_GROUP_SETTINGS, input);
    const made = await tenant.makeGroup(state, input.group, settings, "admin");
    if (made.record.settings === settings) return { ...settings, createdBy: made.record.createdBy };
    // Somebody else was making it, with settings of theirs.
    known = made;
  }
  const settings = { ...merge(known.record.settings, input), startFrom: known.record.settings.startFrom };
  const record = { ...known.record, settings };
  await tenant.log.saveGroup(input.topic, record);
  const adopted = tenant.adopt(state, record);
  tenant.wake.pump(input);
  return { ...adopted.record.settings, createdBy: adopted.record.createdBy };
}

function merge(settings: GroupSettings, input: PutGroupInput): GroupSettings {
  const { retry, ...others } = input.settings;
  return { ...settings, ...defined(others), retry: { ...settings.retry, ...defined(retry ?? {}) } };
}

function defined<T extends object>(values: T): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}

export async function getGroup(tenant: Tenant, input: GroupRef): Promise<GroupView> {
  const { record } = await tenant.groupOrFail(input.topic, input.group);
  return { ...record.settings, createdBy: record.createdBy };
}

/** Forgets the group. Its record stays as a tombstone, so that its generation is not used again. */
export function deleteGroup(tenant: Tenant, input: GroupRef & { force: boolean }): Promise<null> {
  return tenant.changeSettings(() => deleteInTurn(tenant, input));
}

async function deleteInTurn(tenant: Tenant, input: GroupRef & { force: boolean }): Promise<null> {
  const state = await tenant.topicOrFail(input.topic);
  const group = await tenant.groupOrFail(input.topic, input.group);
  const live = tenant.change(group, () => group.subscribers.size);
  if (live > 0 && !input.force) {
    fail(
      "conflict",
      `group ${input.group} has live subscribers (${live}); let them leave or use ?force=true`,
    );
  }
  const record = { ...group.record, deletedAtMs: tenant.nowMs() };
  await tenant.log.saveGroup(input.topic, record);
  await tenant.log.deleteProgress(input.topic, input.group, null);
  tenant.ports.sql.transaction(() => tenant.tables.removeGroup(group.key));
  const current = state.groups.get(input.group);
  state.groups.delete(input.group);
  state.tombstones.set(input.group, record);
  if (current) tenant.dropCache(current);
  return null;
}
