import type { NewMessage } from "../../src/log/message-log.ts";
import type { ObjectHost } from "./object-host.ts";
import type { Prng } from "./prng.ts";
import type { Profile } from "./profile.ts";
import { drawHeaders } from "./split-plan.ts";
import type { World } from "./world.ts";

const MAX_TRIES = 6;
const MAX_DELAY_MS = 20_000;

/** Publishes a number of batches; after an unknown outcome the same IDs again, sometimes with other bodies. */
export class Publisher {
  private readonly world: World;
  private readonly host: ObjectHost;
  private readonly profile: Profile;
  private readonly prng: Prng;
  private readonly name: string;
  private left: number;
  private made = 0;

  constructor(world: World, host: ObjectHost, profile: Profile, prng: Prng, name: string) {
    this.world = world;
    this.host = host;
    this.profile = profile;
    this.prng = prng;
    this.name = name;
    this.left = profile.publishes;
  }

  start(): void {
    this.later(this.prng.int(0, 1000));
  }

  private later(delayMs: number): void {
    this.world.after(delayMs, `${this.name} wakes`, () => this.next());
  }

  private next(): void {
    if (this.left <= 0) return;
    this.left -= 1;
    const topic = this.prng.pick(this.profile.topics);
    const chained = this.prng.chance(this.profile.chained);
    const pauseMs = this.prng.pick(this.profile.pausesMs);
    this.publish(topic, this.batch(), 1, () => {
      if (chained) this.later(pauseMs);
    });
    if (!chained) this.later(pauseMs);
  }

  private publish(topic: string, messages: NewMessage[], tries: number, done: () => void): void {
    const onReply = (reply: { ok: boolean } | null) => {
      if (reply?.ok || tries >= MAX_TRIES) return done();
      // Safe to send again: the same IDs. A producer that makes its bodies anew sends other bytes.
      const again = this.prng.chance(0.3)
        ? messages.map((message) => ({ ...message, ...this.content() }))
        : messages;
      this.world.after(this.prng.int(0, 2000), `${this.name} tries again`, () =>
        this.publish(topic, again, tries + 1, done),
      );
    };
    if (this.prng.chance(this.profile.direct)) this.host.sendDirect({ topic, messages }, onReply);
    else this.host.send("publish", { topic, messages }, onReply);
  }

  private batch(): NewMessage[] {
    const messages: NewMessage[] = [];
    const size = this.prng.int(1, this.profile.batch);
    for (let place = 0; place < size; place += 1) {
      const repeats = this.made > 0 && this.prng.chance(this.profile.duplicate);
      const number = repeats ? this.prng.int(1, this.made) : ++this.made;
      // The key goes with the ID, so that a repeat meets its first.
      const partitionKey =
        this.profile.partitionKeys[(number * 7) % this.profile.partitionKeys.length] ?? "k";
      const delayMs = this.prng.chance(this.profile.delayed) ? this.prng.int(1, MAX_DELAY_MS) : 0;
      messages.push({ id: `${this.name}/${number}`, partitionKey, delayMs, ...this.content() });
    }
    return messages;
  }

  private content(): Pick<NewMessage, "body" | "contentType" | "headers"> {
    const salt = this.prng.int(0, 1_000_000);
    const salted = this.prng.chance(0.2) ? `{"x-salt":"${salt}"}` : "";
    const { split } = this.profile;
    const headers = split ? drawHeaders(this.prng, split.headed, salted) : salted;
    if (this.prng.chance(0.2)) {
      const body = Uint8Array.from({ length: this.prng.int(0, 40) }, (_, at) => (at * 37 + salt) % 256);
      return { body, contentType: "application/octet-stream", headers };
    }
    const texts = [
      `{"n": ${salt}, "n":1.0}`,
      `[9007199254740993,${salt}]`,
      `"\\u00e9 ${salt} é🚀"`,
      ` ${salt}e0 `,
    ];
    return { body: this.prng.pick(texts), contentType: null, headers };
  }
}
