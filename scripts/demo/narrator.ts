/** Tells the story with the time it took, and keeps what was checked for the summary. */
export class Narrator {
  private readonly startedAtMs = Date.now();
  private readonly checks: { what: string; ok: boolean; seen: string }[] = [];

  chapter(title: string): void {
    process.stdout.write(`\n${this.time()}  == ${title}\n`);
  }

  say(line: string): void {
    process.stdout.write(`${this.time()}     ${line}\n`);
  }

  /** A claim of the summary: what must hold and what was seen. */
  check(what: string, ok: boolean, seen: string): void {
    this.checks.push({ what, ok, seen });
    this.say(`${ok ? "ok" : "NOT OK"}: ${what} (${seen})`);
  }

  /** Prints the summary; true when every check held. */
  summary(): boolean {
    const failed = this.checks.filter(({ ok }) => !ok);
    process.stdout.write(
      `\n${this.time()}  == Summary: ${this.checks.length} checks, ${failed.length} failed\n`,
    );
    for (const { what, ok, seen } of this.checks) {
      process.stdout.write(`         ${ok ? "ok    " : "NOT OK"}  ${what} (${seen})\n`);
    }
    return failed.length === 0;
  }

  private time(): string {
    const seconds = Math.floor((Date.now() - this.startedAtMs) / 1000);
    return `${String(Math.floor(seconds / 60)).padStart(2, "0")}:${String(seconds % 60).padStart(2, "0")}`;
  }
}
