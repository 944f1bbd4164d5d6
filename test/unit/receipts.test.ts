import { expect, test } from "vitest";
import { parseReceipt, ReceiptMaker } from "../../src/protocol/receipts.ts";

const SCOPE = { tenant: "acme", topic: "orders", group: "billing" };
const DELIVERY = { generation: 1_767_225_600_000, offset: 189_388_800_000_000, nonce: "0123456789abcdef" };

test("a receipt has the form that is documented; one of an older release is still read", () => {
  const text = new ReceiptMaker(SCOPE, DELIVERY.generation).make(DELIVERY.offset, DELIVERY.nonce, "höfe/1");
  const [version, checksum, ...rest] = text.split(".");
  expect(version).toBe("1");
  expect(checksum).toMatch(/^[0-9a-z]{1,7}$/);
  const numbers = [DELIVERY.generation.toString(36), DELIVERY.offset.toString(36)];
  expect(rest).toEqual([...numbers, DELIVERY.nonce, Buffer.from("höfe/1").toString("base64url")]);
  // FNV-1a of "acme\norders\nbilling\n" and the rest of the text, worked out apart from the code.
  expect(checksum).toBe("4362hq");
  expect(parseReceipt(text, SCOPE)).toEqual({ ...DELIVERY, partitionKey: "höfe/1" });
});
