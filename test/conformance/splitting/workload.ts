import type { Place } from "./journal.ts";
import type { AttachOptions, Party, Probe } from "./probe.ts";

export const APPLICATION = "application";

/**
 * The application and the developers of a scenario. They outlive every agent: what one agent's operator began to ask of
 * them is finished before the next one's wish.
 */
export class Workload {
  place: Place | "away" = "away";
  private readonly probe: Probe;
  private application: Party | null = null;
  private readonly developers = new Map<string, Party>();
  private moving: Promise<void> = Promise.resolve();

  constructor(probe: Probe) {
    this.probe = probe;
  }

  /** Where the application consumes; nothing happens where it does so already. */
  move(place: Place | "away", options: AttachOptions = {}): Promise<void> {
    return this.next(async () => {
      if (this.place === place) return;
      await this.application?.detach();
      this.place = "away";
      this.application = place === "away" ? null : await this.probe.attach(APPLICATION, place, options);
      this.place = place;
    });
  }

  /** What the application holds. */
  held(): string[] {
    return this.application?.held() ?? [];
  }

  async attachDeveloper(route: string, slot: number, options: AttachOptions): Promise<Party> {
    const party = await this.probe.attach(route, slot, options);
    this.developers.set(route, party);
    return party;
  }

  detachDeveloper(route: string): Promise<void> {
    return this.next(async () => {
      await this.developers.get(route)?.detach();
      this.developers.delete(route);
    });
  }

  private next(work: () => Promise<void>): Promise<void> {
    const done = this.moving.then(work);
    this.moving = done;
    return done;
  }
}
