/** Webhook bodies as shops, payment providers and carriers send them; every one made up here. */
const STEPS = [
  "order.created",
  "payment.authorized",
  "payment.captured",
  "parcel.packed",
  "parcel.shipped",
] as const;
const ITEMS = ["espresso cups", "desk lamp", "bicycle bell", "linen shirt", "field notebook"];

export interface ShopEvent {
  id: string;
  partitionKey: string;
  body: {
    type: string;
    schema: number;
    order: string;
    step: number;
    occurredAt: string;
    data: Record<string, unknown>;
  };
}

export function orderEvents(run: string, orders: number): ShopEvent[] {
  const events: ShopEvent[] = [];
  for (const [step, type] of STEPS.entries()) {
    for (let order = 1; order <= orders; order += 1) events.push(orderEvent(run, order, step, type));
  }
  return events;
}

function orderEvent(run: string, number: number, step: number, type: string): ShopEvent {
  const order = `${run}-order-${number}`;
  const item = ITEMS[number % ITEMS.length] as string;
  return {
    id: `${order}/${type}`,
    partitionKey: order,
    body: {
      type,
      schema: 3,
      order,
      step,
      occurredAt: new Date().toISOString(),
      data: {
        item,
        quantity: 1 + (number % 3),
        amount: { currency: "EUR", minorUnits: 1990 + 250 * number },
      },
    },
  };
}

/** A body of a newer schema than the consumer knows: it will fail however often it is tried. */
export function poisonEvent(run: string): ShopEvent {
  const event = orderEvent(run, 900, 0, "order.created");
  return { ...event, id: `${event.id}/schema-4`, body: { ...event.body, schema: 4 } };
}

export function stockEvents(run: string, from: number, count: number): ShopEvent[] {
  return Array.from({ length: count }, (_, at) => {
    const number = from + at;
    const shelf = `${run}-shelf-${number % 4}`;
    return {
      id: `${shelf}/count-${number}`,
      partitionKey: shelf,
      body: {
        type: "stock.counted",
        schema: 3,
        order: shelf,
        step: number,
        occurredAt: new Date().toISOString(),
        data: { sku: `SKU-${1000 + number}`, counted: 40 - (number % 7) },
      },
    };
  });
}
