import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { keyProblem } from "../../src/core/names.ts";
import {
  MAX_RECEIPT_CHARS,
  parseReceipt,
  ReceiptMaker,
  type ReceiptScope,
} from "../../src/protocol/receipts.ts";
import { settleRequest } from "../../src/protocol/settle.ts";
import { holds } from "./replay.ts";

const nameChar = fc.constantFrom(..."abcxyz0189._-");
const name = (maxLength: number) =>
  fc
    .tuple(fc.constantFrom(..."abz09"), fc.string({ unit: nameChar, maxLength: maxLength - 1 }))
    .map(([first, rest]) => first + rest);
const scope: fc.Arbitrary<ReceiptScope> = fc.record({ tenant: name(64), topic: name(128), group: name(128) });
const key = fc
  .oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 40 }),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
    fc.constantFrom(
      "😀".repeat(255),
      "\u{10ffff}".repeat(255),
      "\ufeffa",
      "~15",
      "__proto__",
      "%",
      "*",
      "\n",
    ),
  )
  .filter((text) => keyProblem(text) === null);
const number = fc.oneof(fc.constantFrom(0, 1, Number.MAX_SAFE_INTEGER), fc.maxSafeNat());
const nonce = fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 16, maxLength: 16 });
const receipt = fc.record({ generation: number, offset: number, nonce, partitionKey: key });
type Named = { generation: number; offset: number; nonce: string; partitionKey: string };

function textOf(of: ReceiptScope, { generation, offset, nonce: once, partitionKey }: Named): string {
  return new ReceiptMaker(of, generation).make(offset, once, partitionKey);
}

describe("a receipt", () => {
  test("G5 comes back as it was made, whatever the key", () => {
    holds(
      fc.property(scope, receipt, (of, named) => {
        expect(parseReceipt(textOf(of, named), of)).toEqual(named);
      }),
      800,
    );
  });

  test("one maker makes the receipts of many keys in any order", () => {
    holds(
      fc.property(scope, number, fc.array(receipt, { maxLength: 8 }), (of, generation, all) => {
        const maker = new ReceiptMaker(of, generation);
        for (const named of [...all, ...all]) {
          const text = maker.make(named.offset, named.nonce, named.partitionKey);
          expect(parseReceipt(text, of)).toEqual({ ...named, generation });
        }
      }),
      200,
    );
  });

  test("G7 of another tenant, topic or group is none", () => {
    const part = fc.constantFrom("tenant" as const, "topic" as const, "group" as const);
    holds(
      fc.property(scope, receipt, part, name(64), (of, named, changed, other) => {
        fc.pre(of[changed] !== other);
        const text = textOf(of, named);
        expect(parseReceipt(text, { ...of, [changed]: other })).toBeNull();
        // The scope read last is remembered: the right one must still be told from it.
        expect(parseReceipt(text, of)).toEqual(named);
      }),
      500,
    );
  });

  test("G7 names shifted between tenant, topic and group make another scope", () => {
    const text = textOf({ tenant: "ab", topic: "c", group: "d" }, sample);
    for (const [tenant, topic, group] of [
      ["a", "bc", "d"],
      ["ab", "cd", "d"],
      ["abc", "", "d"],
      ["d", "c", "ab"],
    ] as const) {
      expect(parseReceipt(text, { tenant, topic, group })).toBeNull();
    }
  });

  test("is short enough to be read and settled with, whatever the key", () => {
    holds(
      fc.property(scope, receipt, (of, named) => {
        const text = textOf(of, named);
        expect(text.length).toBeLessThanOrEqual(MAX_RECEIPT_CHARS);
        expect(text).toMatch(/^[\x21-\x7e]+$/);
      }),
    );
  });

  test("of the longest key passes the validation of a settlement", () => {
    const longest = { ...sample, generation: Number.MAX_SAFE_INTEGER, partitionKey: "😀".repeat(255) };
    const settlement = { receipt: textOf(sampleScope, longest), action: "ack" };
    expect(settleRequest.safeParse({ settlements: [settlement] }).error).toBeUndefined();
  });
});

const sampleScope = { tenant: "acme", topic: "orders", group: "billing" };
const sample = { generation: 1, offset: 2, nonce: "00000000000000ff", partitionKey: "k" };

describe("what is no receipt", () => {
  test("is null, and never an exception", () => {
    const garbage = fc.oneof(
      fc.string({ maxLength: 60 }),
      fc.string({ unit: "binary", maxLength: 60 }),
      fc
        .array(fc.string({ unit: fc.constantFrom(..."01az_-=.~é"), maxLength: 20 }), {
          minLength: 4,
          maxLength: 6,
        })
        .map((parts) => `1.${parts.join(".")}`),
    );
    holds(
      fc.property(garbage, (text) => {
        expect(parseReceipt(text, sampleScope)).toBeNull();
      }),
      1000,
    );
  });

  test("a receipt cut short, lengthened or changed in one character is none", () => {
    const printable = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
    const extra = fc.string({ minLength: 1, maxLength: 3 });
    holds(
      fc.property(scope, receipt, fc.nat(), printable, extra, (of, named, chosen, other, more) => {
        const text = textOf(of, named);
        const at = chosen % text.length;
        for (const changed of [text.slice(0, at), text + more, more + text]) {
          expect(parseReceipt(changed, of)).toBeNull();
        }
        if (text[at] === other) return;
        expect(parseReceipt(text.slice(0, at) + other + text.slice(at + 1), of)).toBeNull();
      }),
      500,
    );
  });

  test("a key that is not UTF-8, and numbers beyond exact integers, are refused though the checksum fits", () => {
    const good = ["1", "2", sample.nonce, "aw"];
    const read = (rest: readonly string[]) => parseReceipt(sealed(rest.join(".")), sampleScope);
    const withPart = (at: number, part: string) => good.map((one, index) => (index === at ? part : one));
    expect(read(good)).toEqual({ ...sample, partitionKey: "k" });
    expect(read(withPart(1, "2gosa7pa2gv"))?.offset).toBe(Number.MAX_SAFE_INTEGER);
    expect(read(withPart(1, "2gosa7pa2gw"))).toBeNull();
    expect(read(withPart(0, "zzzzzzzzzzz"))).toBeNull();
    expect(read(withPart(2, "00000000000000FF"))).toBeNull();
    for (const key of ["_w", "a", "", "a=", "7aCA"]) expect(read(withPart(3, key)), key).toBeNull();
    expect(read(withPart(3, "A".repeat(MAX_RECEIPT_CHARS)))).toBeNull();
    expect(parseReceipt(sealed(good.join(".")).replace(/^1/, "2"), sampleScope)).toBeNull();
  });
});

/** A text under the checksum that fits it, worked out apart from the code: 32-bit FNV-1a by exact products. */
function sealed(rest: string): string {
  const { tenant, topic, group } = sampleScope;
  let hash = 0x811c9dc5n;
  for (const byte of Buffer.from(`${tenant}\n${topic}\n${group}\n${rest}`)) {
    hash = ((hash ^ BigInt(byte)) * 0x01000193n) & 0xffffffffn;
  }
  return `1.${hash.toString(36)}.${rest}`;
}
