/**
 * Fair share: how many lanes each subscriber may hold, and which of them must give lanes up.
 *
 * P busy lanes over S counted subscribers make a share of ceil(P/S). It binds only while another asking
 * subscriber is below it; then free lanes are taken up to the share, and what is missing comes from owners
 * that are not counted (live, but neither asking nor holding deliveries), then from those furthest above
 * their share. Nobody gives up more than what is missing, so as few lanes move as can.
 */
export interface ShareInput {
  /** Lanes with a message that may be delivered now or is in flight. */
  busyLanes: number;
  /** Busy lanes without an owner that could be granted now. */
  freeReadyLanes: number;
  /** Busy lanes of each owner; owners without any may be absent. */
  heldLanes: ReadonlyMap<string, number>;
  /** Live subscribers that ask or hold deliveries. */
  counted: ReadonlySet<string>;
  /** Live subscribers that ask. */
  asking: ReadonlySet<string>;
}

export interface Shares {
  share: number;
  /** Lanes that each owner must give up; owners that keep all are absent. */
  giveUp: Map<string, number>;
}

export function shares(input: ShareInput): Shares {
  const share = Math.ceil(input.busyLanes / Math.max(1, input.counted.size));
  let missing = -input.freeReadyLanes;
  for (const subscriber of input.asking)
    missing += Math.max(0, share - (input.heldLanes.get(subscriber) ?? 0));
  const giveUp = new Map<string, number>();
  if (missing <= 0) return { share, giveUp };
  const givers: { owner: string; over: number; counted: boolean }[] = [];
  for (const [owner, held] of input.heldLanes) {
    const counted = input.counted.has(owner);
    const over = counted ? held - share : held;
    if (over > 0) givers.push({ owner, over, counted });
  }
  givers.sort(
    (a, b) => Number(a.counted) - Number(b.counted) || b.over - a.over || (a.owner < b.owner ? -1 : 1),
  );
  for (const { owner, over } of givers) {
    const given = Math.min(over, missing);
    if (given <= 0) break;
    giveUp.set(owner, given);
    missing -= given;
  }
  return { share, giveUp };
}

/** How many more lanes a subscriber may take that nobody owns; Infinity when no share binds it. */
export function mayTake(input: ShareInput, share: number, subscriber: string): number {
  for (const other of input.asking) {
    if (other === subscriber) continue;
    if ((input.heldLanes.get(other) ?? 0) < share) {
      return Math.max(0, share - (input.heldLanes.get(subscriber) ?? 0));
    }
  }
  return Number.POSITIVE_INFINITY;
}
