import { DurableObject } from "cloudflare:workers";
import { Hints } from "../../../src/workers/hints.ts";
import { platformAfter } from "../../../src/workers/http/deadline.ts";

/** Longer than the pause between hints: the requests that come meanwhile find one under way. */
const CALL_MS = 30;

const sent: unknown[] = [];
/** Of the isolate, as in the product: each request below comes with a context of its own. */
const hints = new Hints({
  notify: (_tenant, { offsets }) => {
    sent.push(offsets);
    // A timer of the request that sends: it ends with that request's context.
    return new Promise((resolve) => {
      setTimeout(resolve, CALL_MS);
    });
  },
  nowMs: () => Date.now(),
  after: platformAfter,
});

/** `/hint`, `/die` (a hint whose request is over at once) and `/wait`, each with `?topic=&offset=`; and `/healthz`. */
export default {
  async fetch(request: Request, _env: unknown, context: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const offset = Number(searchParams.get("offset"));
    const place = {
      tenant: "demo",
      topic: searchParams.get("topic") ?? "",
      waitUntil: context.waitUntil.bind(context),
    };
    const offsets = { lowest: offset, highest: offset };
    const sinceMs = Date.now();
    if (pathname === "/hint") hints.hint(place, offsets);
    if (pathname === "/die") hints.hint({ ...place, waitUntil: () => {} }, offsets);
    if (pathname === "/wait") {
      await hints.hintAndWait(place, offsets);
      // I/O of this request, which in another one's context would fail.
      await new Promise((resolve) => {
        setTimeout(resolve, 0);
      });
    }
    return Response.json({ waitedMs: Date.now() - sinceMs, sent });
  },
  async scheduled(): Promise<void> {},
};

/** The local server binds them; nobody calls them. */
export class TenantObject extends DurableObject {}
export class GcRegistry extends DurableObject {}
export class SplitManager extends DurableObject {}
