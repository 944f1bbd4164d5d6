import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPackage, ExampleProgram } from "./example-programs.ts";
import { ExampleWorld, startWire, type WorldRequest } from "./example-world.ts";
import { type Live, setup, until } from "./harness.ts";

const CUSTOMERS = ["ann", "bob", "cem"];
const ORDERS_EACH = 6;
/** Where the payment program is killed first: the service has charged, and its reply never arrives. */
const KILLED_AT_CHARGE = "order-ann-3";
/** And then: the payment is published, and nothing acknowledged. */
const KILLED_AT_PUBLISH = "order-bob-4";
/** An order that the service refuses at first: the customer's next one must wait for it. */
const REFUSED_ONCE = "order-cem-2";
/** A crash is noticed after the 3 s of the groups' settings. */
const DEADLINE_MS = 40_000;

interface Order {
  order: string;
  customer: string;
  total: number;
}

const orders: Order[] = Array.from({ length: ORDERS_EACH }, (_, index) =>
  CUSTOMERS.map((customer) => ({ order: `order-${customer}-${index + 1}`, customer, total: 10 + index })),
).flat();
const input = orders.map((order) => JSON.stringify(order)).join("\n");

/** A service that knows the keys of what it has done. */
class KeyedService {
  /** What was done, in its order. */
  readonly done: { key: string; customer: string; what: string }[] = [];
  repeats = 0;

  /** False where the key is known already. */
  accept({ key, json }: WorldRequest, what: (json: Record<string, unknown>) => string): boolean {
    if (key === undefined) throw new Error("a request without a key");
    if (this.done.some((each) => each.key === key)) {
      this.repeats += 1;
      return false;
    }
    const body = json as Record<string, unknown>;
    this.done.push({ key, customer: body.customer as string, what: what(body) });
    return true;
  }

  of(customer: string): string[] {
    return this.done.filter((each) => each.customer === customer).map(({ what }) => what);
  }
}

let live: Live;
const payments = new KeyedService();
const parcels = new KeyedService();
let paymentWorld: ExampleWorld;
let shippingWorld: ExampleWorld;
/** Between the payment program and the queue until it was killed. */
let wire: ExampleWorld;
/** Each resolves when the program is to be killed. */
const charged = Promise.withResolvers<void>();
const published = Promise.withResolvers<void>();

beforeAll(async () => {
  buildPackage();
  live = await setup();
  const hindered = new Set<string | undefined>();
  const isFirst = (key: string | undefined, order: string) => {
    if (key !== `${order}/placed` || hindered.has(key)) return false;
    hindered.add(key);
    return true;
  };
  paymentWorld = await ExampleWorld.start(async (request) => {
    if (isFirst(request.key, REFUSED_ONCE)) return { status: 503, json: {} };
    payments.accept(request, ({ amount }) => `${amount}`);
    if (isFirst(request.key, KILLED_AT_CHARGE)) {
      charged.resolve();
      await new Promise(() => {});
    }
    return { json: { charge: `charge-${request.key}` } };
  });
  wire = await startWire(live, async ({ path, json }) => {
    if (!path.endsWith("/topics/payments/messages") || !JSON.stringify(json).includes(KILLED_AT_PUBLISH))
      return;
    published.resolve();
    await new Promise(() => {});
  });
  shippingWorld = await ExampleWorld.start((request) => {
    parcels.accept(request, ({ order }) => order as string);
    return { json: {} };
  });
});
afterAll(async () => {
  await wire?.close();
  await paymentWorld?.close();
  await shippingWorld?.close();
  await live?.close();
});

function program(name: string, text?: string, url = live.url): ExampleProgram {
  const env = {
    FAIRLANE_URL: url,
    FAIRLANE_TOKEN: live.token,
    PAYMENT_URL: paymentWorld.url,
    SHIPPING_URL: shippingWorld.url,
  };
  return new ExampleProgram(`order-pipeline/${name}.ts`, env, text);
}

test("each order is paid once and shipped once, in order, though the service fails and the program is killed twice", async () => {
  expect(await program("setup").done()).toBe("orders is read by payment\npayments is read by shipping\n");
  expect(await program("place-orders", input).done()).toBe(`${orders.length} placed, 0 already known\n`);
  const shipping = program("shipping");
  for (const moment of [charged, published]) {
    const killed = program("payment", "", wire.url);
    await moment.promise;
    await killed.kill();
  }
  // Whoever placed the orders does not know of that, and tries again.
  expect(await program("place-orders", input).done()).toBe(`0 placed, ${orders.length} already known\n`);

  const payment = program("payment");
  await until("all is shipped", async () => parcels.done.length === orders.length, DEADLINE_MS);
  for (const customer of CUSTOMERS) {
    const own = orders.filter((order) => order.customer === customer);
    expect(payments.of(customer)).toEqual(own.map(({ total }) => `${total}`));
    expect(parcels.of(customer)).toEqual(own.map(({ order }) => order));
  }
  expect(payments.done.map(({ key }) => key).sort()).toEqual(
    orders.map(({ order }) => `${order}/placed`).sort(),
  );
  // The charge whose reply was lost was asked for again, under the same key.
  expect(payments.repeats).toBeGreaterThan(0);
  expect(await live.api("demo").listMessages("payments")).toHaveLength(orders.length);
  for (const topic of ["orders", "payments"]) expect(await live.api("demo").deadLetters(topic)).toEqual([]);

  await until("all is settled", async () => {
    const topics = await Promise.all(["orders", "payments"].map((topic) => live.api("demo").getTopic(topic)));
    return topics.every(({ groups }) => groups.every(({ backlog }) => backlog === 0));
  });
  await Promise.all([payment.stop(), shipping.stop()]);
  await until("all who were stopped have left, and those who were killed are given up", async () => {
    const { groups } = await live.api("demo").getTopic("orders");
    return groups.every(({ subscribers }) => subscribers === 0);
  });
});

test("an order that cannot be published is named, and the program fails", async () => {
  const text = JSON.stringify({ order: "order-x", customer: "~reserved", total: 1 });
  await expect(program("place-orders", text).done()).rejects.toThrow(/ended with 1:\n.*order-x\/placed/);
});
