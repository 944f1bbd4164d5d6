import { messageId } from "fairlane";
import { callOnce, fairlane, type Order, stopSignal } from "./shop.ts";

/** Orders in, payments out. */

const PAYMENT_URL = process.env.PAYMENT_URL ?? "http://127.0.0.1:9001";

await fairlane.consume<Order>("orders", {
  group: "payment",
  signal: stopSignal(),
  onStale: ({ message }) => console.error(`${message.id}: too late, it is delivered again`),
  onError: (error) => console.error(String(error)),
  handler: async (message) => {
    const order = message.body;
    const { charge } = await callOnce<{ charge: string }>(
      `${PAYMENT_URL}/charges`,
      message.id,
      { customer: order.customer, amount: order.total },
      message.signal,
    );
    // Named for its occasion. If this program dies before the message is acknowledged, the next try publishes the same.
    await fairlane.publish("payments", {
      id: await messageId(order.order, "paid"),
      partitionKey: message.partitionKey,
      body: { ...order, charge },
    });
    console.log(`paid ${order.order}`);
  },
});
