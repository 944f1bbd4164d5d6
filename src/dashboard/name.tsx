import { visibleText } from "./format.ts";

/**
 * A name, key, ID or reason that others chose: isolated, so that its direction stays its own, without invisible
 * characters, and cut by the style where it is long; pointing at it shows all.
 */
export function Name({ text, lines = 2 }: { text: string; lines?: 1 | 2 | 4 }) {
  const shown = visibleText(text);
  return (
    <bdi class={`name lines-${lines}`} title={shown}>
      {shown}
    </bdi>
  );
}
