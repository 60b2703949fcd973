import { AwakenError } from "@awaken/contract";
import type { QueueStoreStats, StoreStats } from "@awaken/contract/store";
import type { QueueWatcher } from "@awaken/runtime";
import type { Counter, Gauge, Histogram, Registry } from "prom-client";
import { type Prom, QueueMeters } from "./queue-metrics.ts";

/** A `Registry` of prom-client. Its own type is not named here: programs without the package compile too. */
export interface MetricRegistry {
  /** All metrics, as text. */
  metrics(): Promise<string>;
  /** One of them by its name. */
  getSingleMetric(name: string): unknown;
}

const isRegistry = (given: MetricRegistry): given is MetricRegistry & Registry =>
  typeof given.metrics === "function" && typeof given.getSingleMetric === "function";

async function importProm(): Promise<Prom> {
  try {
    const module = await import("prom-client");
    return module.default ?? module;
  } catch (cause) {
    throw new AwakenError("not_installed", "metrics need the package 'prom-client': run `npm install prom-client`", { cause });
  }
}

export interface HttpFacts {
  readonly method: string;
  /** The pattern of the route, never the path. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
}

export interface Metrics extends QueueWatcher {
  request(facts: HttpFacts): void;
  inFlight(change: 1 | -1): void;
  text(): Promise<string>;
}

interface Sources {
  readonly store: { stats?(): Promise<StoreStats | QueueStoreStats> };
  readonly streams: { readonly size: number };
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** The names and labels. Depths are asked for when somebody scrapes. */
class Meters {
  readonly #register: Registry;
  readonly #sources: Sources;
  readonly #requests: Counter;
  readonly #durations: Histogram;
  readonly #inFlight: Gauge;
  readonly #streams: Gauge;
  readonly #activeRuns: Gauge;
  readonly #queueDepth: Gauge;
  readonly #dispatches: Gauge;
  /** What the queue of this process does. */
  readonly queue: QueueMeters;

  constructor(prom: Prom, register: Registry, sources: Sources) {
    this.#register = register;
    this.queue = new QueueMeters(prom, register);
    this.#sources = sources;
    const registers = [register];
    const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
      new prom.Gauge({ name, help, labelNames: [...labelNames], registers });
    this.#requests = new prom.Counter({
      name: "awaken_http_requests_total",
      help: "Requests that were answered",
      labelNames: ["method", "route", "status"],
      registers,
    });
    this.#durations = new prom.Histogram({
      name: "awaken_http_request_duration_seconds",
      help: "Until the answer began",
      labelNames: ["method", "route"],
      buckets: SECONDS,
      registers,
    });
    this.#inFlight = gauge("awaken_http_requests_in_flight", "Requests that are worked on");
    this.#streams = gauge("awaken_sse_connections", "Event streams that are open");
    this.#activeRuns = gauge("awaken_active_runs", "Runs at work, of all tenants and processes");
    this.#queueDepth = gauge("awaken_mailbox_queue_depth", "Runs that wait for a worker");
    this.#dispatches = gauge("awaken_mailbox_dispatch_depth", "Dispatches by status", ["status"]);
  }

  request({ method, route, status, durationMs }: HttpFacts): void {
    this.#requests.inc({ method, route, status: String(status) });
    this.#durations.observe({ method, route }, durationMs / 1000);
  }

  inFlight(count: number): void {
    this.#inFlight.set(count);
  }

  async text(): Promise<string> {
    const { store, streams } = this.#sources;
    this.#streams.set(streams.size);
    const stats = await store.stats?.();
    if (stats !== undefined) {
      this.#activeRuns.set(stats.runs.running);
      if ("dispatches" in stats) {
        this.#queueDepth.set(stats.dispatches.queued);
        for (const [status, count] of Object.entries(stats.dispatches)) this.#dispatches.set({ status }, count);
      }
    }
    return this.#register.metrics();
  }
}

/** Counts from the first request on, and loads what it takes when there is one. */
export function openMetrics(given: true | MetricRegistry, sources: Sources): Metrics {
  let count = 0;
  const opening = importProm().then((prom) => {
    if (given === true) return new Meters(prom, new prom.Registry(), sources);
    if (!isRegistry(given))
      throw new AwakenError("config_validation_failed", "createServer: metrics must be true or a Registry of prom-client");
    return new Meters(prom, given, sources);
  });
  // Whoever scrapes is told.
  opening.catch(() => {});
  const tell = (what: (meters: Meters) => void): void => void opening.then(what, () => {});
  return {
    request: (facts) => tell((meters) => meters.request(facts)),
    inFlight: (change) => {
      count += change;
      tell((meters) => meters.inFlight(count));
    },
    onOperation: (facts) => tell(({ queue }) => queue.onOperation(facts)),
    onDispatch: (facts) => tell(({ queue }) => queue.onDispatch(facts)),
    onRunEnd: (facts) => tell(({ queue }) => queue.onRunEnd(facts)),
    text: async () => (await opening).text(),
  };
}
