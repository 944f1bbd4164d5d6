import type { Filter } from "../src/splitting/filter/filter.ts";
import { parseFilter } from "../src/splitting/filter/parse-filter.ts";
import { RouteTable } from "../src/splitting/filter/route-table.ts";
import { objectSubject } from "../src/splitting/filter/subject.ts";
import { median } from "./statistics.ts";

/**
 * How many messages a second one core tells apart by the filters of 20 routes: `node bench/filter.ts`. Each message has
 * five headers and a key; every second one is a route's. Once with the headers parsed before, once parsing their text.
 * A second is one of processor time, of all threads: what else the machine does shows less in it.
 */
const ROUTES = 20;
const MESSAGES = 10_000;
const WINDOW_MS = 500;
const WINDOWS = 7;

interface Message {
  headers: Record<string, unknown>;
  text: string;
  key: string;
}

const SHAPES: Record<string, (route: number) => unknown> = {
  "x-user equals": (route) => ({ header: "x-user", equals: `user-${route}` }),
  "20 headers equal": (route) => ({ header: `x-user-${route}`, equals: "yes" }),
  "x-user begins with": (route) => ({ header: "x-user", prefix: `user-${route}/` }),
  "x-user matches": (route) => ({ header: "x-user", matches: `user-${route}/[0-9a-f]+` }),
  "baggage equals": (route) => ({ baggage: "user", equals: `user-${route}` }),
};

function filterOf(value: unknown): Filter {
  const parsed = parseFilter(value, "fairlane");
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return parsed.filter;
}

function messagesFor(shape: string): Message[] {
  return Array.from({ length: MESSAGES }, (_, index) => {
    const route = index % (2 * ROUTES);
    const isExact = shape.endsWith("equals");
    const headers: Record<string, unknown> = {
      "content-language": "en",
      traceparent: `00-4bf92f3577b34da6a3ce929d0e0e${String(index).padStart(4, "0")}-00f067aa0ba902b7-01`,
      "x-user": isExact ? `user-${route}` : `user-${route}/${index.toString(16)}`,
      baggage: `tenant=acme,user=user-${route}`,
      [`x-user-${route}`]: "yes",
    };
    return { headers, text: JSON.stringify(headers), key: `order-${index}` };
  });
}

/** Messages a second of processor time; throws if not half of them are the routes'. */
function measured(messages: readonly Message[], routeOf: (message: Message) => string | null): number {
  const rates: number[] = [];
  for (let window = 0; window <= WINDOWS; window++) {
    let routed = 0;
    let rounds = 0;
    const startMs = performance.now();
    let nowMs = startMs;
    const startUsage = process.cpuUsage();
    while (nowMs - startMs < WINDOW_MS) {
      for (const message of messages) if (routeOf(message) !== null) routed += 1;
      rounds += 1;
      nowMs = performance.now();
    }
    const { user, system } = process.cpuUsage(startUsage);
    if (routed !== (rounds * messages.length) / 2)
      throw new Error("the routes took other messages than theirs");
    // The first window is for the compiler.
    if (window > 0) rates.push((rounds * messages.length * 1e6) / (user + system));
  }
  return median(rates);
}

console.log(
  `${ROUTES} routes, messages a second of processor time (median of ${WINDOWS} windows of ${WINDOW_MS} ms)`,
);
for (const [shape, shapeOf] of Object.entries(SHAPES)) {
  const routes = Array.from({ length: ROUTES }, (_, route) => ({
    route: `route-${route}`,
    filter: filterOf(shapeOf(route)),
  }));
  const table = new RouteTable(routes);
  const messages = messagesFor(shape);
  const parsed = measured(messages, ({ headers, key }) => table.routeOf(objectSubject(headers, key)));
  const parsing = measured(messages, ({ text, key }) =>
    table.routeOf(objectSubject(JSON.parse(text) as Record<string, unknown>, key)),
  );
  const shown = (rate: number) => Math.round(rate).toLocaleString("en").padStart(12);
  console.log(`${shape.padEnd(20)}${shown(parsed)} parsed before${shown(parsing)} parsing the text`);
}
