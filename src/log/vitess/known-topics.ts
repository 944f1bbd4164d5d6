/** Topics are few and never deleted; more than this are asked for again now and then. */
const MAX_KNOWN = 10_000;

/** Which topics are known to have their row, so that a publish need not look. The least recently used are forgotten. */
export class KnownTopics {
  private readonly names = new Set<string>();

  has(tenant: string, topic: string): boolean {
    const name = nameOf(tenant, topic);
    if (!this.names.delete(name)) return false;
    this.names.add(name);
    return true;
  }

  add(tenant: string, topic: string): void {
    this.names.add(nameOf(tenant, topic));
    if (this.names.size <= MAX_KNOWN) return;
    const [oldest] = this.names;
    if (oldest !== undefined) this.names.delete(oldest);
  }
}

/** A slash is in no name. */
function nameOf(tenant: string, topic: string): string {
  return `${tenant}/${topic}`;
}
