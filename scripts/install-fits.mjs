/**
 * Whether node_modules holds what the lock file asks for. `lock` is package-lock.json, `installed` is the
 * copy that npm leaves in node_modules/.package-lock.json, or null where there is none.
 *
 * A package may be missing only if it is optional (another platform's binary); an extra one does no harm.
 */
export function installFits(lock, installed) {
  if (!lock || !installed) return false;
  for (const [path, wanted] of Object.entries(lock.packages)) {
    if (path === "") continue;
    const found = installed.packages[path];
    if (!found) {
      if (wanted.optional) continue;
      return false;
    }
    if (found.version !== wanted.version || found.integrity !== wanted.integrity) return false;
  }
  return true;
}
