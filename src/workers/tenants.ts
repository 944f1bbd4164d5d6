import { tenantProblem } from "../core/names.ts";

/**
 * The tenants that exist. From `MQ_TENANTS` (names between commas), or where that is not set from the list
 * bundled with the Worker. Throws on anything doubtful: a typo must not make a tenant vanish silently.
 */
export function readTenants(variable: string | undefined, bundled: unknown): ReadonlySet<string> {
  const names = variable === undefined ? bundled : variable.split(",").map((name) => name.trim());
  const source = variable === undefined ? "tenants.json" : "MQ_TENANTS";
  if (!Array.isArray(names)) throw new Error(`${source} must be a list of names`);
  const tenants = new Set<string>();
  for (const name of names as unknown[]) {
    if (typeof name !== "string") throw new Error(`${source} holds something that is not a name`);
    const problem = tenantProblem(name);
    if (problem !== null) throw new Error(`${source}: tenant ${JSON.stringify(name)} ${problem}`);
    if (tenants.has(name)) throw new Error(`${source}: tenant ${name} stands there twice`);
    tenants.add(name);
  }
  if (tenants.size === 0) throw new Error("no tenant is configured: set MQ_TENANTS, or fill tenants.json");
  return tenants;
}
