import { parentPort, workerData } from "node:worker_threads";
import { Fairlane } from "../../src/client/fairlane.ts";

// A consumer on a thread of its own, whose handler blocks that thread until it is told to go on.

export interface BlockingConsumer {
  url: string;
  token: string;
  topic: string;
  /** 0: block; 1: go on. */
  flag: SharedArrayBuffer;
}

const MAX_BLOCK_MS = 20_000;

const { url, token, topic, flag } = workerData as BlockingConsumer;
const stop = new AbortController();
await new Fairlane({ url, tenant: "demo", token }).consume(topic, {
  group: "g",
  signal: stop.signal,
  handler: () => {
    parentPort?.postMessage("blocked");
    Atomics.wait(new Int32Array(flag), 0, 0, MAX_BLOCK_MS);
  },
  onStale: ({ message, action, status }) => {
    parentPort?.postMessage(`${action} ${message.id}/${message.attempt} ${status}`);
    stop.abort();
  },
});
