import { AwakenError, type JsonObject, type Log, type Schema, validateSync } from "@awaken/contract";
import { DEFAULT_BODY_BYTES, type Route } from "@awaken/contract/http";
import type { Clock } from "@awaken/runtime";
import { readBody } from "./http/body.ts";
import type { Deadlines } from "./http/deadlines.ts";
import { type NodeHost, type Reply, toResponse, writeReply } from "./http/deliver.ts";
import type { Admitted, Gatekeeper } from "./http/gatekeeper.ts";
import type { HealthCheck } from "./http/health.ts";
import type { ServerLimits } from "./http/limits.ts";
import type { Metrics } from "./http/metrics.ts";
import { checkOrigin, type Origins } from "./http/origins.ts";
import { refuse } from "./http/refuse.ts";
import type { EventStreams } from "./http/streams.ts";
import type { Endpoint } from "./routes/endpoint.ts";
import {
  checkId,
  type EventReply,
  type FrameReply,
  type ServedRuntime,
  type ServedStore,
  type ServerFacts,
  type Tenant,
} from "./routes/served.ts";

/** One request, after it was answered: what a log wants to have of it. No ids, no keys. */
export interface RequestLine {
  /** When the answer began, in ms since 1970. */
  readonly at: number;
  /** What `x-request-id` of the answer says: that of the request, or one that was made for it. */
  readonly requestId: string;
  /** As it was asked with. */
  readonly method: string;
  /** The pattern of the route. */
  readonly route: string;
  /** Of the answer. */
  readonly status: number;
  /** Until the answer began. */
  readonly durationMs: number;
  /** Of a refusal. */
  readonly code?: string;
}

/** What all requests share. */
export interface Desk {
  readonly runtime: ServedRuntime;
  readonly store: ServedStore;
  readonly gatekeeper: Gatekeeper;
  readonly origins: Origins;
  readonly limits: ServerLimits;
  readonly streams: EventStreams;
  readonly health: HealthCheck;
  readonly metrics: Metrics | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly onRequest: ((line: RequestLine) => void) | undefined;
  readonly facts: ServerFacts;
  /** How long a request may take, and its body. */
  readonly requests: Deadlines;
  readonly bodies: Deadlines;
  inFlight: number;
  isClosed?: boolean;
  last?: Pick<Tenant, "runtime" | "records"> & { readonly scopeId: string };
}

const JSON_TYPE = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store", "x-content-type-options": "nosniff" };
const EVENT_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-accel-buffering": "no",
};

const queryIn = (url: string): string => {
  const at = url.indexOf("?");
  return at < 0 ? "" : (url.slice(at + 1).split("#", 1)[0] ?? "");
};

function readQuery(route: Route, url: string): unknown {
  const given: Record<string, string> = {};
  const query = queryIn(url);
  if (query === "" && route.query === undefined) return undefined;
  for (const [name, value] of new URLSearchParams(query)) {
    if (Object.hasOwn(given, name)) throw new AwakenError("invalid_query", `the query has '${name.slice(0, 80)}' twice`);
    Object.defineProperty(given, name, { value, enumerable: true });
  }
  if (route.query === undefined) return undefined;
  // Not every store can look for it, and none has it.
  if (query.includes("%00")) throw new AwakenError("invalid_query", "the query has a NUL in it");
  const read = validateSync(route.query, given);
  if (read.type === "invalid") throw new AwakenError("invalid_query", `the query does not fit: ${read.message}`);
  return read.value;
}

async function readInput({ limits, bodies }: Desk, schema: Schema, { maxBodyBytes = DEFAULT_BODY_BYTES }: Route, request: Request) {
  const given = await readBody(request, { maxBytes: maxBodyBytes, timeoutMs: limits.bodyMs, deadlines: bodies });
  const read = validateSync(schema, given);
  if (read.type === "invalid") throw new AwakenError("invalid_body", `the body does not fit: ${read.message}`);
  return read.value;
}

/** The ports of whoever asked last are kept: mostly it is he who asks again. */
function tenantOf(desk: Desk, { scopeId, principal }: Admitted): Tenant {
  if (desk.last?.scopeId !== scopeId) {
    const runtime = desk.runtime.scoped(scopeId);
    desk.last = { scopeId, runtime, records: desk.store.scoped(runtime.scopeId) };
  }
  const { runtime, records } = desk.last;
  return { runtime, records, principal };
}

async function handle(
  desk: Desk,
  { route, handle }: Endpoint,
  request: Request,
  params: Readonly<Record<string, string>>,
): Promise<unknown> {
  if (desk.isClosed && route.gate !== "open") throw new AwakenError("shutting_down", "the server is leaving");
  if (route.gate !== "open") checkOrigin(request, desk.origins.list);
  const asked = desk.gatekeeper.admit(route.gate, request);
  const admitted = asked instanceof Promise ? await asked : asked;
  for (const id of Object.values(params)) checkId(id);
  const query = readQuery(route, request.url);
  if (route.answer.type === "events" || route.answer.type === "frames") {
    if (request.method === "HEAD") throw new AwakenError("method_not_allowed", "a stream has nothing but what it streams");
    desk.streams.checkRoom();
  }
  const body = route.body === undefined ? undefined : await readInput(desk, route.body, route, request);
  return handle({
    tenant: tenantOf(desk, admitted),
    params,
    query,
    body,
    headers: request.headers,
    isAdmin: admitted.isAdmin,
    server: desk.facts,
    clock: desk.clock,
  });
}

/** Events that nobody will read any more. */
const letGo = (reply: unknown): void => {
  if (isEventReply(reply)) void Promise.resolve(reply.events.return?.()).catch(() => {});
};

const tooLong = (ms: number) => new AwakenError("timeout", `the request took longer than ${ms} ms`);

function replyOf(desk: Desk, { answer, path }: Route, reply: unknown, requestId: string): Reply {
  const own = { "x-request-id": requestId };
  switch (answer.type) {
    case "json":
      return { status: answer.status, headers: { ...JSON_TYPE, ...own }, body: JSON.stringify(reply) };
    case "health":
      return { status: isHealthy(reply) ? 200 : 503, headers: { ...JSON_TYPE, ...own }, body: JSON.stringify(reply) };
    case "empty":
      return { status: answer.status, headers: own, body: undefined };
    case "text":
      return { status: 200, headers: { "content-type": answer.contentType, ...own }, body: String(reply) };
    case "events":
      // Whoever has all of it need not come again.
      if (reply === undefined) return { status: 204, headers: own, body: undefined };
      if (!isEventReply(reply)) throw new AwakenError("internal", `${path} gave no events`);
      return streamed(desk, { path, reply, requestId });
    case "frames":
      if (reply === undefined) return { status: 204, headers: { ...answer.headers, ...own }, body: undefined };
      if (!isFrameReply(reply)) throw new AwakenError("internal", `${path} gave no frames`);
      return streamed(desk, { path, reply, requestId, headers: answer.headers });
  }
}

interface Streamed {
  readonly path: string;
  readonly reply: EventReply | FrameReply;
  readonly requestId: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

function streamed({ log }: Desk, { path, reply, requestId, headers }: Streamed): Reply {
  const { runId, threadId } = reply;
  return {
    status: 200,
    headers: {
      ...EVENT_HEADERS,
      ...headers,
      "x-request-id": requestId,
      ...(runId === undefined ? undefined : { "x-run-id": encodeURIComponent(runId) }),
      ...(threadId === undefined ? undefined : { "x-thread-id": encodeURIComponent(threadId) }),
    },
    body: { ...reply, refuse: (thrown) => refuse(thrown, log, { route: path, requestId }).body },
  };
}

const isHealthy = (reply: unknown): boolean =>
  typeof reply === "object" && reply !== null && "status" in reply && reply.status === "healthy";
const isEventReply = (reply: unknown): reply is EventReply => typeof reply === "object" && reply !== null && "events" in reply;
const isFrameReply = (reply: unknown): reply is FrameReply => isEventReply(reply) && "encoder" in reply;

const requestIdOf = (request: Request): string => {
  const given = request.headers.get("x-request-id") ?? "";
  return /^[\w.:-]{1,100}$/.test(given) ? given : crypto.randomUUID();
};

interface Outcome {
  readonly request: Request;
  readonly route: string;
  readonly requestId: string;
  readonly startedAt: number;
}

function tell({ onRequest, metrics, clock }: Desk, { request, route, requestId, startedAt }: Outcome, status: number, code?: string): void {
  const at = clock.now();
  const line: JsonObject & RequestLine = {
    at,
    requestId,
    method: request.method,
    route,
    status,
    durationMs: at - startedAt,
    ...(code === undefined ? undefined : { code }),
  };
  metrics?.request({ method: request.method, route, status, durationMs: line.durationMs });
  onRequest?.(line);
}

function toRefusal(desk: Desk, outcome: Outcome, thrown: unknown): Reply {
  const { requestId, route } = outcome;
  const { status, body } = refuse(thrown, desk.log, { route, requestId });
  tell(desk, outcome, status, body.code);
  const retry = status === 503 || status === 429 ? { "retry-after": "1" } : undefined;
  const challenge = status === 401 ? { "www-authenticate": "Bearer" } : undefined;
  return { status, headers: { ...JSON_TYPE, "x-request-id": requestId, ...retry, ...challenge }, body: JSON.stringify(body) };
}

/** A request that no route takes. */
export function refused(desk: Desk, request: Request, thrown: unknown, headers?: Readonly<Record<string, string>>): Response {
  const outcome = { request, route: "none", requestId: requestIdOf(request), startedAt: desk.clock.now() };
  const refusal = toRefusal(desk, outcome, thrown);
  return toResponse(desk.streams, { ...refusal, headers: { ...headers, ...refusal.headers } }, request);
}

async function reply(desk: Desk, endpoint: Endpoint, request: Request, params: Readonly<Record<string, string>>): Promise<Reply> {
  const { path, gate } = endpoint.route;
  const outcome = { request, route: path, requestId: requestIdOf(request), startedAt: desk.clock.now() };
  // Whoever asks whether the server lives is answered also when it has too much to do, and is no reason for that.
  const isCounted = gate !== "open";
  if (isCounted && desk.inFlight >= desk.limits.maxRequests) {
    return toRefusal(desk, outcome, new AwakenError("server_busy", `the server works on ${desk.inFlight} requests already`));
  }
  if (isCounted) desk.inFlight += 1;
  desk.metrics?.inFlight(1);
  try {
    const work = handle(desk, endpoint, request, params);
    const given = replyOf(
      desk,
      endpoint.route,
      await desk.requests.within(work, () => tooLong(desk.limits.requestMs), letGo),
      outcome.requestId,
    );
    tell(desk, outcome, given.status);
    return given;
  } catch (thrown) {
    return toRefusal(desk, outcome, thrown);
  } finally {
    if (isCounted) desk.inFlight -= 1;
    desk.metrics?.inFlight(-1);
  }
}

export interface Asked {
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  /** Where it came in, when that is Node. */
  readonly host: NodeHost | undefined;
  /** What every answer to it has beside its own. */
  readonly headers: Headers | undefined;
}

/** One request, from its head to its answer. Never throws. */
export async function answer(desk: Desk, endpoint: Endpoint, { request, params, host, headers }: Asked): Promise<Response> {
  const given = await reply(desk, endpoint, request, params);
  if (host === undefined) return toResponse(desk.streams, given, request);
  return writeReply(
    desk.streams,
    host,
    headers === undefined ? given : { ...given, headers: { ...Object.fromEntries(headers), ...given.headers } },
  );
}
