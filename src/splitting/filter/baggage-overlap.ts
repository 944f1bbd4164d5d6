import { type Allowed, type CompiledCondition, holdForText, listedTexts } from "./allowed.ts";
import { BAGGAGE_HEADER, baggageText, membersOf } from "./baggage.ts";
import type { Budget } from "./budget.ts";
import type { FilterDialect } from "./filter-dialect.ts";
import { occurring } from "./occurring.ts";

/** What one conjunction says of the baggage: of the whole header, and of its members. Each is possible by itself. */
export interface BaggagePart {
  /** null: nothing is said of the header. */
  header: { conditions: readonly CompiledCondition[]; allowed: Allowed } | null;
  members: MemberPart[];
}

export interface MemberPart {
  name: string;
  conditions: readonly CompiledCondition[];
  allowed: Allowed;
}

export type PlacedBaggage =
  | { kind: "absent" }
  | { kind: "opaque" }
  | { kind: "text"; text: string }
  | { kind: "impossible" }
  | { kind: "undecided"; because: "baggage"; reason: string };

/**
 * The header baggage of a message for which all of it holds. Members alone are independent of each other, as a header
 * can be written for any values of them. Beside a condition on the whole header they are not: then the header may be
 * absent or no text, or one of few listed texts, which decides it; else some likely headers are tried. If none of them
 * will do, the two may exclude each other or not: it is undecided, which counts as an overlap.
 */
export function placeBaggage(part: BaggagePart, dialect: FilterDialect, budget: Budget): PlacedBaggage {
  const { header, members } = part;
  const mayAllBeAbsent = members.every(({ allowed }) => allowed.absent);
  const written = baggageText(
    members.flatMap(({ name, allowed }) =>
      allowed.absent || allowed.text === null ? [] : [[name, allowed.text] as const],
    ),
  );
  if (header === null) return mayAllBeAbsent ? { kind: "absent" } : { kind: "text", text: written };
  const { conditions, allowed } = header;
  if (mayAllBeAbsent && allowed.absent) return { kind: "absent" };
  if (allowed.text === null) {
    return mayAllBeAbsent && allowed.opaque ? { kind: "opaque" } : { kind: "impossible" };
  }
  if (members.length === 0) return { kind: "text", text: allowed.text };
  const { texts } = occurring({ kind: "header", name: BAGGAGE_HEADER }, dialect);
  if (texts === null) return { kind: "impossible" };
  const listed = listedTexts(conditions, texts, budget);
  const tried = listed ?? [
    allowed.text,
    written,
    `${allowed.text},${written}`,
    `${allowed.text}${written}`,
    `${written},${allowed.text}`,
  ];
  const names = new Set(members.map(({ name }) => name));
  const found = tried.find((text) => {
    budget.spend(text.length + conditions.length);
    if (!texts.holds(text) || !holdForText(conditions, text)) return false;
    const values = membersOf(text, names);
    return members.every((member) => holdsFor(member, values.get(member.name)));
  });
  if (found !== undefined) return { kind: "text", text: found };
  if (mayAllBeAbsent && allowed.opaque) return { kind: "opaque" };
  if (listed) return { kind: "impossible" };
  return {
    kind: "undecided",
    because: "baggage",
    reason: "there are conditions both on the header baggage and on members of it",
  };
}

function holdsFor({ conditions }: MemberPart, value: string | undefined): boolean {
  if (value !== undefined) return holdForText(conditions, value);
  return conditions.every(({ negated }) => negated);
}
