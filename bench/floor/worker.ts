import { DurableObject } from "cloudflare:workers";
import { OBJECT_SCHEMA } from "../../src/log/object/schema.generated.ts";

/**
 * The least that a queue on this platform must do: parse the JSON, one INSERT into the product's table with
 * its indexes, and the same reply. No authorisation, no validation, no look at duplicates.
 */
interface FloorMessage {
  id: string;
  partitionKey: string;
  body: unknown;
}

const TABLE = "queue_messages.sql";
const OFFSET_EPOCH_MS = Date.UTC(2020, 0, 1);
const PATH = /^\/v1\/tenants\/([^/]+)\/topics\/([^/]+)\/messages$/;

/** One statement whatever the number of messages: a hundred parameters would not hold a hundred rows. */
const INSERT = `
  INSERT INTO queue_messages (tenant, topic, message_offset, partition_key, message_id, origin, target_group,
    published_at_ms, due_at_ms, content_type, headers, dead_letter, body_bytes, body)
  SELECT ?1, ?2, ?3 + m.key, m.value->>'partitionKey', m.value->>'id', '', NULL, ?4, ?4, NULL, '', NULL,
    octet_length(m.value->'body'), m.value->'body'
  FROM json_each(?5) AS m`;

export class TenantObject extends DurableObject {
  private lastOffset = 0;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    const { sql } = ctx.storage;
    if (sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'queue_messages'").toArray().length === 0) {
      sql.exec(OBJECT_SCHEMA.find(({ name }) => name === TABLE)?.sql ?? "");
    }
  }

  insert(tenant: string, topic: string, messages: FloorMessage[]): void {
    const nowMs = Date.now();
    const first = Math.max(this.lastOffset + 1, (nowMs - OFFSET_EPOCH_MS) * 1000);
    this.lastOffset = first + messages.length - 1;
    this.ctx.storage.sql.exec(INSERT, tenant, topic, first, nowMs, JSON.stringify(messages));
  }
}

/** Only so that the server's configuration, which names all classes, is the product's. */
export class GcRegistry extends DurableObject {}
export class SplitManager extends DurableObject {}

interface FloorEnv {
  TENANT: DurableObjectNamespace<TenantObject>;
}

export default {
  async fetch(request: Request, env: FloorEnv): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/healthz") return Response.json({ status: "ok" });
    const [, tenant, topic] = PATH.exec(pathname) ?? [];
    if (tenant === undefined || topic === undefined) return new Response("no such call", { status: 404 });
    const { messages } = await request.json<{ messages: FloorMessage[] }>();
    await env.TENANT.getByName(tenant).insert(tenant, topic, messages);
    return Response.json({
      messages: messages.map(({ id, partitionKey }) => ({ id, partitionKey, duplicate: false })),
    });
  },
};
