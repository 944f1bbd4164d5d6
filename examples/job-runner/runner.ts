import { Fairlane, type Message } from "fairlane";
import { countPrimes, type Job, readJob } from "./job.ts";

/** Runs jobs; start as many of it as you like. Each job's end is one of four, and each is said to the queue. */

const RENDER_URL = process.env.RENDER_URL ?? "http://127.0.0.1:9003";
const POLL_MS = Number(process.env.POLL_MS ?? 5000);
/** More than the largest computation takes on a slow machine. */
const COMPUTE_MS = 10 * 60_000;

const fairlane = new Fairlane({
  url: process.env.FAIRLANE_URL ?? "http://127.0.0.1:8787",
  tenant: process.env.FAIRLANE_TENANT ?? "demo",
  token: process.env.FAIRLANE_TOKEN,
});
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());

await fairlane.consume("jobs", {
  group: "runners",
  signal: stop.signal,
  onStale: ({ message }) => console.error(`${message.id}: too late, it is delivered again`),
  onError: (error) => console.error(String(error)),
  handler: run,
});

async function run(message: Message): Promise<void> {
  const job = readJob(message.body);
  if ("problem" in job) {
    // What is wrong now is wrong at the third try, too: straight to the dead letters.
    await message.reject(job.problem);
  } else if (job.kind === "render") {
    await render(message, job);
  } else {
    // While it computes nothing else runs here, the client's own extending included: so ask for the time before.
    await message.extend(COMPUTE_MS);
    console.log(`${message.id}: ${countPrimes(job.below)} primes below ${job.below}`);
  }
}

async function render(message: Message, job: Extract<Job, { kind: "render" }>): Promise<void> {
  // PUT under the message's ID: the first call begins the work, each later one says how far it is.
  const reply = await fetch(`${RENDER_URL}/renders/${encodeURIComponent(message.id)}`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ scene: job.scene }),
    signal: message.signal,
  });
  // Thrown: a failed attempt, retried after the group's backoff, and a dead letter when the attempts are used up.
  if (!reply.ok) throw new Error(`the render service answers ${reply.status}`);
  const { state, reason } = (await reply.json()) as { state: "running" | "done" | "failed"; reason?: string };
  if (state === "failed") {
    await message.reject(`render failed: ${reason ?? "no reason given"}`);
  } else if (state === "running") {
    // Not a failure, and no attempt: look again later. Meanwhile this process has its hands free.
    await message.postpone(POLL_MS);
  } else {
    console.log(`${message.id}: rendered ${job.scene}`);
  }
}
