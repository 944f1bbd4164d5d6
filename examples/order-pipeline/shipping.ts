import { callOnce, fairlane, type PaidOrder, stopSignal } from "./shop.ts";

/** Payments in, parcels out. */

const SHIPPING_URL = process.env.SHIPPING_URL ?? "http://127.0.0.1:9002";

await fairlane.consume<PaidOrder>("payments", {
  group: "shipping",
  signal: stopSignal(),
  onStale: ({ message }) => console.error(`${message.id}: too late, it is delivered again`),
  onError: (error) => console.error(String(error)),
  handler: async (message) => {
    const { order, customer } = message.body;
    await callOnce(`${SHIPPING_URL}/parcels`, message.id, { order, customer }, message.signal);
    console.log(`shipped ${order}`);
  },
});
