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
  const counted = Math.max(1, input.counted.size);
  const share = Math.ceil(input.busyLanes / counted);
  const giveUp = new Map<string, number>();
  take(input, share, share, giveUp);
  // Where lanes do not divide evenly all may be within the share and an asker still have none.
  const least = Math.floor(input.busyLanes / counted);
  if (least < share) take(input, least, least, giveUp);
  return { share, giveUp };
}

/** Takes what askers are missing to `wanted` lanes from owners with more than `kept`, into `giveUp`. */
function take(input: ShareInput, wanted: number, kept: number, giveUp: Map<string, number>): void {
  const held = (owner: string) => (input.heldLanes.get(owner) ?? 0) - (giveUp.get(owner) ?? 0);
  let missing = -input.freeReadyLanes;
  for (const given of giveUp.values()) missing -= given;
  for (const subscriber of input.asking) missing += Math.max(0, wanted - held(subscriber));
  if (missing <= 0) return;
  const givers: { owner: string; over: number; counted: boolean }[] = [];
  for (const owner of input.heldLanes.keys()) {
    const counted = input.counted.has(owner);
    const over = counted ? held(owner) - kept : held(owner);
    if (over > 0) givers.push({ owner, over, counted });
  }
  givers.sort(
    (a, b) => Number(a.counted) - Number(b.counted) || b.over - a.over || (a.owner < b.owner ? -1 : 1),
  );
  for (const { owner, over } of givers) {
    const given = Math.min(over, missing);
    if (given <= 0) return;
    giveUp.set(owner, (giveUp.get(owner) ?? 0) + given);
    missing -= given;
  }
}

/** How many more lanes a subscriber may take that nobody owns; Infinity when no share binds it. */
export function mayTake(input: ShareInput, subscriber: string): number {
  const counted = Math.max(1, input.counted.size);
  const least = Math.floor(input.busyLanes / counted);
  const share = Math.ceil(input.busyLanes / counted);
  const held = input.heldLanes.get(subscriber) ?? 0;
  let bound = Number.POSITIVE_INFINITY;
  for (const other of input.asking) {
    if (other === subscriber) continue;
    const others = input.heldLanes.get(other) ?? 0;
    // What was given up for one who has too little must not be taken back by who gave it.
    if (others < least) return Math.max(0, least - held);
    if (others < share) bound = Math.max(0, share - held);
  }
  return bound;
}
