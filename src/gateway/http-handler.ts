import type { IncomingMessage, ServerResponse } from "node:http";
import { isAuthorized } from "./credentials.ts";
import type { Executor } from "./executor.ts";
import type { Fault, Faults } from "./faults.ts";
import type { GatewayLimits } from "./limits.ts";
import { executeSchema, newSession } from "./session.ts";

const EXECUTE = "/psdb.v1alpha1.Database/Execute";
const CREATE_SESSION = "/psdb.v1alpha1.Database/CreateSession";
const INJECTED = { code: "UNKNOWN", message: "injected error" };

export interface HandlerOptions {
  user: string;
  password: string;
  limits: GatewayLimits;
  executor: Executor;
  faults: Faults;
  /** Replies that are never given. */
  dropped: Set<ServerResponse>;
  /** Called once for every Execute that is answered or lost. */
  onRoundTrip: () => void;
}

/** A request that is not the protocol's. */
class BadRequest extends Error {
  override name = "BadRequest";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Answers one request. Never rejects for anything that a client does. */
export async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  options: HandlerOptions,
): Promise<void> {
  try {
    checkRequest(request, options);
    const body = await readBody(request, options.limits.maxBodyBytes);
    if (request.url === EXECUTE) await execute(body, response, options);
    else send(response, 200, createSession(options.user));
  } catch (error) {
    // The client went while it sent its body: nobody is there to be told.
    if (request.errored) return;
    if (!(error instanceof BadRequest)) throw error;
    // What is left of a body that was not read would be taken for the next request.
    if (!request.complete) response.setHeader("Connection", "close");
    send(response, error.status, { error: { code: error.code, message: error.message } });
  }
}

function checkRequest(request: IncomingMessage, { user, password }: HandlerOptions): void {
  if (!isAuthorized(request.headers.authorization, user, password)) {
    throw new BadRequest(401, "unauthenticated", "invalid authorization credentials");
  }
  if (request.url !== EXECUTE && request.url !== CREATE_SESSION) {
    throw new BadRequest(404, "not_found", "no such procedure");
  }
  if (request.method !== "POST") throw new BadRequest(405, "unimplemented", "only POST is allowed");
  if (!/^application\/json(?:;|$)/i.test(request.headers["content-type"] ?? "")) {
    throw new BadRequest(415, "invalid_argument", "the body must be application/json");
  }
}

async function readBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const tooLarge = () =>
    new BadRequest(413, "resource_exhausted", `the body is larger than ${maxBytes} bytes`);
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  // A request that is left early is not destroyed: its socket still has to carry the refusal.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  try {
    return JSON.parse(
      new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(Buffer.concat(chunks)),
    );
  } catch {
    throw new BadRequest(400, "invalid_argument", "the body is not JSON in UTF-8");
  }
}

async function execute(body: unknown, response: ServerResponse, options: HandlerOptions): Promise<void> {
  const parsed = executeSchema.safeParse(body);
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join(".") ?? "";
    throw new BadRequest(
      400,
      "invalid_argument",
      `the body is no Execute request: ${path || "not an object"}`,
    );
  }
  const { query, session } = parsed.data;
  options.onRoundTrip();
  const fault = options.faults.take(query);
  if (fault && (await meetBefore(fault, response, options))) return;
  // The client may have gone: the statement is run to its end all the same, as at PlanetScale.
  const reply = await options.executor.execute(query, session ?? null);
  if (fault && (await meetAfter(fault, response))) return;
  send(response, 200, reply);
}

/** Returns true when that was all. */
async function meetBefore(
  fault: Fault,
  response: ServerResponse,
  { dropped }: HandlerOptions,
): Promise<boolean> {
  switch (fault.kind) {
    case "errorBefore":
      send(response, fault.httpStatus ?? 200, { error: fault.error ?? INJECTED });
      return true;
    case "refuse":
      reset(response);
      return true;
    case "drop":
      dropped.add(response);
      response.on("close", () => dropped.delete(response));
      return true;
    case "delay":
      await pause(fault.beforeMs ?? 0);
      return false;
    case "errorAfter":
      return false;
  }
}

async function meetAfter(fault: Fault, response: ServerResponse): Promise<boolean> {
  if (fault.kind === "delay") await pause(fault.afterMs ?? 0);
  if (fault.kind !== "errorAfter") return false;
  reset(response);
  return true;
}

/** Whoever waits at the end of the process does not hold it up. */
function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs).unref();
  });
}

function createSession(user: string): unknown {
  return { branch: "gateway", user: { username: user, psid: "gateway" }, session: newSession() };
}

function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed) return;
  const text = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": text.length });
  response.end(text);
}
