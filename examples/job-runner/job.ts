/** What a job is, as other programs publish it. */
export type Job =
  /** Is begun at the render service, which then takes its time. */
  | { kind: "render"; scene: string }
  /** Is computed here, and holds up this process meanwhile. */
  | { kind: "count-primes"; below: number };

const MAX_BELOW = 20_000_000;

/** The job, or what is wrong with it, for whoever reads the dead letters. */
export function readJob(body: unknown): Job | { problem: string } {
  if (typeof body !== "object" || body === null || !("kind" in body)) return { problem: "not a job" };
  const job = body as Record<string, unknown>;
  if (job.kind === "render") {
    if (typeof job.scene !== "string") return { problem: "render: scene must be a text" };
    return { kind: "render", scene: job.scene };
  }
  if (job.kind === "count-primes") {
    const { below } = job;
    if (typeof below !== "number" || !Number.isInteger(below) || below < 0 || below > MAX_BELOW) {
      return { problem: `count-primes: below must be a whole number up to ${MAX_BELOW}` };
    }
    return { kind: "count-primes", below };
  }
  return { problem: `no such kind of job: ${JSON.stringify(job.kind)?.slice(0, 100)}` };
}

export function countPrimes(below: number): number {
  const composite = new Uint8Array(below);
  let count = 0;
  for (let number = 2; number < below; number += 1) {
    if (composite[number]) continue;
    count += 1;
    for (let multiple = number * number; multiple < below; multiple += number) composite[multiple] = 1;
  }
  return count;
}
