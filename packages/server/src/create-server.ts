import { AwakenError, consoleLog, type JsonObject, type Log } from "@awaken/contract";
import { openApiDocument } from "@awaken/contract/http";
import { type Clock, systemClock } from "@awaken/runtime";
import { Hono } from "hono";
import { answer, type Desk, type RequestLine, refused } from "./answer.ts";
import { type Access, openAccess } from "./http/access.ts";
import { Deadlines } from "./http/deadlines.ts";
import type { NodeHost } from "./http/deliver.ts";
import { Gatekeeper } from "./http/gatekeeper.ts";
import { HealthCheck } from "./http/health.ts";
import { type ServerLimits, toLimits } from "./http/limits.ts";
import { type MetricRegistry, type Metrics, openMetrics } from "./http/metrics.ts";
import { allowing, Origins, originHeaderProblem, originProblem } from "./http/origins.ts";
import { EventStreams } from "./http/streams.ts";
import { agUi } from "./protocols/ag-ui/routes.ts";
import { aiSdk } from "./protocols/ai-sdk/routes.ts";
import { below, type Endpoint, type Protocol } from "./routes/endpoint.ts";
import { NATIVE } from "./routes/handlers.ts";
import { isServable, type ServedRuntime, type ServerFacts } from "./routes/served.ts";

export interface ServerInit {
  /** What is served. Its store needs a queue and keeps events, as those of `awaken` do. */
  readonly runtime: ServedRuntime;
  /** Says who asks, from the head of the request alone: `apiKeys([…])`, or a function of yours. `open` lets in everybody. Default: nobody. */
  readonly access?: Access | "open";
  /** What lets in whoever runs the server. Default: nobody. */
  readonly admin?: {
    /** As `Authorization: Bearer …`; at least 16 characters. */
    readonly token: string;
    /** The tenant that he sees. Default `default`. */
    readonly scopeId?: string;
  };
  /** Protocols beside the server's own routes, each below `/v1/<its id>`. Default: all that there are. */
  readonly protocols?: readonly Protocol[];
  /** This protocol and nothing else, right below `basePath`: for an application that exists. */
  readonly only?: Protocol;
  /** What all paths stand below, `/api` for example. Default: nothing. */
  readonly basePath?: `/${string}`;
  /**
   * Origins whose pages may ask from a browser, also with the cookies of whoever looks at them, beside the server's own;
   * `http://localhost:*` is any port there. Default: none.
   */
  readonly origins?: readonly string[];
  /** Headers of yours that these pages may send, beside those that the routes read: `["x-tenant", "traceparent"]`. Default: none. */
  readonly originHeaders?: readonly string[];
  /** How much and how long. Each has a default. */
  readonly limits?: Partial<ServerLimits>;
  /** Serves `/metrics`: `true` for a registry of its own, or one of `prom-client` that others write to as well. Default: none. */
  readonly metrics?: true | MetricRegistry;
  /** Told of each request when it was answered. */
  readonly onRequest?: (line: RequestLine) => void;
  /** Where what went wrong is said. Default: the console. */
  readonly log?: Log;
  /** What tells time and sets timers. Default: the machine's. */
  readonly clock?: Clock;
}

export interface AwakenServer {
  /** For any host that knows `fetch`. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Not ready from now on: whoever balances load sends no more, while what comes is still answered. */
  drain(): void;
  /** Ends the streams, whose readers come back elsewhere, and refuses what comes. The runtime stays open. */
  close(): Promise<void>;
}

const VERSION = "0.1.0";
const MIN_TOKEN = 16;

const refuseInit = (why: string) => new AwakenError("config_validation_failed", `createServer: ${why}`);

const BASE_PATH = /^(?:\/[\w.~-]+)+$/;

function checkInit({ runtime, admin, only, protocols, basePath, origins = [], originHeaders = [] }: ServerInit): void {
  if (only !== undefined && protocols !== undefined) throw refuseInit("only is for one protocol alone: leave protocols out");
  if (basePath !== undefined && !BASE_PATH.test(basePath)) throw refuseInit("basePath must be like /api, without a slash at its end");
  const wrong = originProblem(origins) ?? originHeaderProblem(originHeaders);
  if (wrong !== undefined) throw refuseInit(wrong);
  if (!isServable(runtime.store)) {
    throw refuseInit("the runtime needs a store with a queue that keeps events: memoryStore, sqliteStore or postgresStore");
  }
  if (admin === undefined) return;
  if (typeof admin.token !== "string" || admin.token.trim().length < MIN_TOKEN) {
    throw refuseInit(`the admin surface needs a token of at least ${MIN_TOKEN} characters; leave admin out to close it`);
  }
}

/** All that there are. */
const PROTOCOLS: readonly Protocol[] = [aiSdk, agUi];

function servedEndpoints({ only, protocols = PROTOCOLS, basePath }: ServerInit): readonly Endpoint[] {
  if (only !== undefined) return below(basePath ?? "", only.endpoints);
  const all = below(basePath ?? "", [...NATIVE, ...protocols.flatMap(({ id, endpoints }) => below(`/v1/${id}`, endpoints))]);
  const names = new Set(all.map(({ name }) => name));
  if (names.size < all.length) throw refuseInit("two protocols have a route of the same name, or one is there twice");
  return all;
}

/** A server that may be told where a request came in. */
export interface HostedServer extends AwakenServer {
  /** Refuses what comes from now on; the streams that are open are not touched. */
  leave(): void;
  /** Says why a request is not looked at. */
  refuse(request: Request, why: AwakenError): Response;
  readonly origins: Origins;
  readonly fetchOn: (request: Request, host: NodeHost) => Response | Promise<Response>;
}

const HOSTED = new WeakMap<AwakenServer["fetch"], HostedServer["fetchOn"]>();

/** How a server of ours is asked where Node is the host. */
export const fetchOnOf = ({ fetch }: Pick<AwakenServer, "fetch">): HostedServer["fetchOn"] | undefined => HOSTED.get(fetch);

/** The runtime over HTTP. */
export function createServer(init: ServerInit): AwakenServer {
  const { fetch, drain, close } = openServer(init);
  return { fetch, drain, close };
}

/** What no row answers. It stands apart, so that a request that one does has that row's handler and nothing else to go through. */
function refusing(desk: Desk, endpoints: readonly Endpoint[]): Hono {
  const app = new Hono({ strict: true });
  const allowed = Map.groupBy(endpoints, ({ route }) => route.path);
  for (const [path, rows] of allowed) {
    const methods = new Set(rows.flatMap(({ route: { method } }) => (method === "GET" ? ["GET", "HEAD"] : [method])));
    const allow = [...methods].join(", ");
    app.all(path, ({ req }) => refused(desk, req.raw, new AwakenError("method_not_allowed", `the route has ${allow} alone`), { allow }));
  }
  return app.notFound(({ req }) => refused(desk, req.raw, new AwakenError("route_not_found", "there is no such route")));
}

type HostedApp = Hono<{ Bindings: { host?: NodeHost } }>;

export function openServer(init: ServerInit): HostedServer {
  checkInit(init);
  const { runtime, clock = systemClock, log = consoleLog, onRequest } = init;
  const { store } = runtime;
  if (!isServable(store)) throw refuseInit("the store is gone");
  const endpoints = servedEndpoints(init);
  const routes = endpoints.map(({ route }) => route);
  const origins = new Origins({ origins: init.origins ?? [], headers: init.originHeaders ?? [], routes });
  const limits = toLimits(init.limits);
  const streams = new EventStreams(clock, limits.maxStreams);
  const health = new HealthCheck({ store, clock, recover: () => runtime.recover(), log });
  const metrics: Metrics | undefined = init.metrics === undefined ? undefined : openMetrics(init.metrics, { store, streams });
  const unwatch = metrics === undefined ? undefined : runtime.watch(metrics);
  const gatekeeper = new Gatekeeper({ access: init.access === "open" ? openAccess() : init.access, admin: init.admin, log });
  const desk: Desk = {
    runtime,
    store,
    gatekeeper,
    origins,
    limits,
    streams,
    health,
    metrics,
    clock,
    log,
    onRequest,
    facts: factsOf({ init, endpoints, health, metrics, clock }),
    requests: new Deadlines(clock, limits.requestMs),
    bodies: new Deadlines(clock, limits.bodyMs),
    inFlight: 0,
  };
  const app: HostedApp = new Hono({ strict: true });
  if (!origins.isEmpty) app.use(allowing(origins));
  for (const endpoint of endpoints) {
    const { method, path } = endpoint.route;
    app.on(method, path, (context) => {
      const { host } = context.env;
      // Only what answers pages of other origins adds headers.
      const headers = host === undefined || origins.isEmpty ? undefined : context.res.headers;
      return answer(desk, endpoint, { request: context.req.raw, params: context.req.param(), host, headers });
    });
  }
  const other = refusing(desk, endpoints);
  app.notFound((context) => other.fetch(context.req.raw));
  app.onError((thrown, context) => refused(desk, context.req.raw, thrown));
  return hosted(app, desk, unwatch);
}

function hosted(app: HostedApp, desk: Desk, unwatch: (() => void) | undefined): HostedServer {
  const { health, streams, requests, bodies } = desk;
  const fetch = async (request: Request) => app.fetch(request, {});
  const fetchOn = (request: Request, host: NodeHost) => app.fetch(request, { host });
  HOSTED.set(fetch, fetchOn);
  const leave = () => {
    health.leave();
    desk.isClosed = true;
  };
  return {
    fetch,
    fetchOn,
    refuse: (request, why) => refused(desk, request, why, desk.origins.toldTo(request.headers.get("origin"))),
    origins: desk.origins,
    drain: () => health.leave(),
    leave,
    async close() {
      leave();
      unwatch?.();
      streams.close();
      requests.close();
      bodies.close();
    },
  };
}

interface FactsInit {
  readonly init: ServerInit;
  readonly endpoints: readonly Endpoint[];
  readonly health: HealthCheck;
  readonly metrics: Metrics | undefined;
  readonly clock: Clock;
}

function modulesOf({ only, protocols = PROTOCOLS, admin }: ServerInit, metrics: Metrics | undefined): readonly string[] {
  if (only !== undefined) return [only.id];
  const ids = protocols.map(({ id }) => id);
  return ["run", "events", ...ids, ...(admin === undefined ? [] : ["admin"]), ...(metrics === undefined ? [] : ["metrics"])];
}

function factsOf({ init, endpoints, health, metrics, clock }: FactsInit): ServerFacts {
  let document: JsonObject | undefined;
  return {
    version: VERSION,
    startedAt: clock.now(),
    modules: modulesOf(init, metrics),
    routes: endpoints.length,
    health: () => health.check(),
    async metrics() {
      if (metrics === undefined) throw new AwakenError("not_installed", "this server has no metrics: createServer({ metrics: true })");
      return metrics.text();
    },
    openApi() {
      document ??= openApiDocument({ routes: Object.fromEntries(endpoints.map(({ name, route }) => [name, route])), version: VERSION });
      return document;
    },
  };
}
