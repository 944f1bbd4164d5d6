import worker, { TenantObject as ProductObject } from "../../src/workers/index.ts";

/**
 * The product's Worker, with the platform's own counters read out: `POST /meter/{tenant}` answers what the
 * tenant object's statements read and wrote, and the hints that it got, since the last such call.
 */
export { GcRegistry, SplitManager } from "../../src/workers/index.ts";

export interface Meter {
  rowsRead: number;
  rowsWritten: number;
  /** Alarms set; the platform bills each as a row written, but does not count it among them. */
  alarmsSet: number;
  /** Hints of publishes that reached the object; only a log outside the object has them. */
  notifies: number;
}

const NOTHING: Meter = { rowsRead: 0, rowsWritten: 0, alarmsSet: 0, notifies: 0 };
const PATH = /^\/meter\/([^/]+)$/;

export class TenantObject extends ProductObject {
  private meter: Meter = { ...NOTHING };
  /** Its counts are final when it was read to its end, which it was before the next statement starts. */
  private lastCursor: Pick<SqlStorageCursor<never>, "rowsRead" | "rowsWritten"> | null = null;

  constructor(ctx: DurableObjectState, env: never) {
    super(ctx, env);
    const { storage } = ctx;
    const { sql } = storage;
    const exec = sql.exec.bind(sql);
    const setAlarm = storage.setAlarm.bind(storage);
    // Own properties that stand before the platform's methods of the same names.
    Object.defineProperty(sql, "exec", {
      value: (query: string, ...params: unknown[]) => {
        this.count();
        const cursor = exec(query, ...params);
        this.lastCursor = cursor as never;
        return cursor;
      },
    });
    Object.defineProperty(storage, "setAlarm", {
      value: (...args: Parameters<typeof setAlarm>) => {
        this.meter.alarmsSet += 1;
        return setAlarm(...args);
      },
    });
  }

  takeMeter(): Meter {
    this.count();
    const { meter } = this;
    this.meter = { ...NOTHING };
    return meter;
  }

  override notify(...call: Parameters<ProductObject["notify"]>): ReturnType<ProductObject["notify"]> {
    this.meter.notifies += 1;
    return super.notify(...call);
  }

  private count(): void {
    this.meter.rowsRead += this.lastCursor?.rowsRead ?? 0;
    this.meter.rowsWritten += this.lastCursor?.rowsWritten ?? 0;
    this.lastCursor = null;
  }
}

interface MeteredEnv {
  TENANT: DurableObjectNamespace<TenantObject>;
}

export default {
  ...worker,
  async fetch(request: Request, env: MeteredEnv, context: ExecutionContext): Promise<Response> {
    const tenant = PATH.exec(new URL(request.url).pathname)?.[1];
    if (tenant !== undefined) return Response.json(await env.TENANT.getByName(tenant).takeMeter());
    return worker.fetch(request, env as never, context as never);
  },
};
