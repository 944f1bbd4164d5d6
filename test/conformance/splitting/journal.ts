/** Where a message can stand: the source, the application's shadow, or the shadow of a slot. */
export type Place = "source" | "application" | number;

export type Fact =
  /** Published to the source, or put back into it. */
  | { kind: "stored"; place: Place; id: string }
  /** A producer's transaction was aborted: nobody may see it. */
  | { kind: "void"; id: string }
  /** A consumer settled it. */
  | { kind: "handled"; by: string; place: Place; id: string }
  /** An agent's connection or process ended. Null: the provider cannot tell what was under way. */
  | { kind: "crash"; underWay: readonly string[] | null }
  | { kind: "route starting"; route: string; slot: number; wants: (id: string) => boolean }
  | { kind: "route in force"; route: string }
  | { kind: "route ending"; route: string }
  | { kind: "route drained"; route: string }
  /** Persisted in the inventory, or no more. */
  | { kind: "recorded"; name: string }
  | { kind: "forgotten"; name: string }
  /** Seen on the broker, or no more. */
  | { kind: "created"; name: string }
  | { kind: "deleted"; name: string }
  | { kind: "phase"; phase: string };

type Placed<K extends Fact["kind"]> = Extract<Fact, { kind: K }> & { at: number };

/** What happened, in the order in which it was observed. The auditor reads nothing else of a life's course. */
export class Journal {
  readonly facts: Fact[] = [];
  private readonly byKind = new Map<Fact["kind"], unknown[]>();

  add(fact: Fact): void {
    const at = this.facts.push(fact) - 1;
    const others = this.byKind.get(fact.kind);
    if (others) others.push({ ...fact, at });
    else this.byKind.set(fact.kind, [{ ...fact, at }]);
  }

  of<K extends Fact["kind"]>(kind: K): readonly Placed<K>[] {
    return (this.byKind.get(kind) ?? []) as Placed<K>[];
  }

  phases(): string[] {
    return this.of("phase").map(({ phase }) => phase);
  }
}
