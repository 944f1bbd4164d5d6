/** A message that two filters match, as small as can be. */
export interface Witness {
  /** Own properties only. */
  headers: Record<string, string>;
  /** Headers that are there with a value that is no text: on brokers only, and only where no text would do. */
  opaqueHeaders?: string[];
  /**
   * Not there: whatever it is, and on a broker none. On a Fairlane topic one of `~0` to `~15` says that only messages
   * published without a key will do.
   */
  key?: string;
}

const MAX_SHOWN_CODE_POINTS = 80;
const PLAIN_NAME = /^[A-Za-z0-9._-]+$/;
/** What a terminal does not show as it is, or as something else. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** For people, long values cut: `{x-user: "ab"}`, `{x-user: "ab"} with the key "order-1"`. */
export function witnessText({ headers, opaqueHeaders = [], key }: Witness): string {
  const shown = [
    ...Object.entries(headers).map(([name, value]) => `${nameText(name)}: ${valueText(value)}`),
    ...opaqueHeaders.map((name) => `${nameText(name)}: (no text)`),
  ].sort();
  return `{${shown.join(", ")}}${key === undefined ? "" : ` with the key ${valueText(key)}`}`;
}

function nameText(name: string): string {
  return PLAIN_NAME.test(name) ? name : valueText(name);
}

function valueText(value: string): string {
  const codePoints = Array.from(value.slice(0, 2 * MAX_SHOWN_CODE_POINTS + 2));
  const isCut = codePoints.length > MAX_SHOWN_CODE_POINTS;
  const shown = isCut ? `${codePoints.slice(0, MAX_SHOWN_CODE_POINTS).join("")}…` : value;
  return JSON.stringify(shown).replace(
    UNSEEN,
    (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`,
  );
}
