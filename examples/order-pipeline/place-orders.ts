import { createInterface } from "node:readline";
import { messageId, PublishError } from "fairlane";
import { fairlane, type Order } from "./shop.ts";

/** Reads orders from standard input, one JSON object a line, and publishes them. */

const messages = [];
for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === "") continue;
  const order = JSON.parse(line) as Order;
  messages.push({
    // Named for its occasion: placing the same order again stores nothing.
    id: await messageId(order.order, "placed"),
    // What must be in order: one customer's orders, as a credit limit is used up in order.
    partitionKey: order.customer,
    body: order,
  });
}

try {
  const results = await fairlane.publishBatch("orders", messages);
  const duplicates = results.filter(({ duplicate }) => duplicate).length;
  console.log(`${results.length - duplicates} placed, ${duplicates} already known`);
} catch (error) {
  if (!(error instanceof PublishError)) throw error;
  for (const [index, result] of error.results.entries()) {
    if (result.error) console.error(`${messages[index]?.id}: ${result.error.message}`);
  }
  process.exitCode = 1;
}
