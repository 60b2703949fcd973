import { AwakenError } from "@awaken/contract";
import type { Counter, Histogram, Registry } from "prom-client";
import { loadPeer } from "../peer/load-peer.ts";
import { type InferenceEvent, type TelemetryEvent, type ToolEvent, toolLabel } from "./events.ts";
import type { Sink } from "./sink.ts";

/** A `Registry` of prom-client. Its own type is not named here: programs without the package compile too. */
export interface MetricRegistry {
  /** All metrics, as text. */
  metrics(): Promise<string>;
  /** One of them by its name. */
  getSingleMetric(name: string): unknown;
}

export interface PrometheusOptions {
  /** Where metrics are registered. Default: the registry of `prom-client` itself. */
  readonly register?: MetricRegistry;
}

const isRegistry = (given: MetricRegistry): given is MetricRegistry & Registry =>
  typeof given.metrics === "function" && typeof given.getSingleMetric === "function";

export interface PrometheusSink extends Sink {
  /** All metrics of the registry, as `GET /metrics` serves them. */
  metrics(): Promise<string>;
  /** The content type to serve them with. */
  readonly contentType: string;
}

type Prom = Pick<typeof import("prom-client"), "Counter" | "Histogram" | "register">;

async function importProm(): Promise<Prom> {
  const peer = { name: "prom-client", neededBy: "prometheus()", install: "prom-client" };
  const module = await loadPeer(peer, () => import("prom-client"));
  return module.default ?? module;
}

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const LONG_SECONDS = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];

/** The one place that knows names and labels. A second runtime of the process counts in the same ones. */
class Meters {
  readonly #prom: Prom;
  readonly #register: Registry;

  constructor(prom: Prom, register: Registry) {
    this.#prom = prom;
    this.#register = register;
  }

  readonly inferences = () => this.#counter("awaken_inference_requests_total", "Answers that models were asked for", MODEL_STATUS);
  readonly inferenceSeconds = () => this.#histogram("awaken_inference_duration_seconds", "How long answers took", MODEL_STATUS);
  readonly tokens = () => this.#counter("awaken_inference_tokens_total", "Tokens by what they are", ["model", "provider", "type"]);
  readonly costUsd = () => this.#counter("awaken_inference_cost_usd_total", "What answers cost, where prices are known", MODEL);
  readonly inferenceErrors = () => this.#counter("awaken_inference_errors_total", "Answers that failed", ["model", "provider", "class"]);
  readonly tools = () => this.#counter("awaken_tool_calls_total", "Calls of tools that have their results", TOOL_STATUS);
  readonly toolSeconds = () => this.#histogram("awaken_tool_duration_seconds", "How long tools ran", TOOL_STATUS);
  readonly toolErrors = () => this.#counter("awaken_tool_errors_total", "Calls that failed", ["tool", "class"]);
  readonly suspensions = () => this.#counter("awaken_agent_suspensions_total", "Calls that wait or go on", ["action", "resume_mode"]);
  readonly handoffs = () => this.#counter("awaken_agent_handoffs_total", "Runs that another agent took over", []);
  readonly delegations = () => this.#counter("awaken_agent_delegations_total", "Runs that runs started", ["status"]);
  readonly delegationSeconds = () =>
    this.#histogram("awaken_agent_delegation_duration_seconds", "How long those took", ["status"], LONG_SECONDS);
  readonly tasks = () => this.#counter("awaken_background_tasks_total", "Work in the background", ["task_type", "status"]);
  readonly taskSeconds = () =>
    this.#histogram("awaken_background_task_duration_seconds", "How long it took", ["task_type", "status"], LONG_SECONDS);
  readonly sessionSeconds = () =>
    this.#histogram("awaken_agent_session_duration_seconds", "How long runs were active until they ended or waited", [], LONG_SECONDS);

  #counter<L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> {
    const { Counter } = this.#prom;
    const known = this.#register.getSingleMetric(name);
    if (known instanceof Counter) return known;
    return new Counter({ name, help, labelNames, registers: [this.#register] });
  }

  #histogram<L extends string>(name: string, help: string, labelNames: readonly L[], buckets = SECONDS): Histogram<L> {
    const { Histogram } = this.#prom;
    const known = this.#register.getSingleMetric(name);
    if (known instanceof Histogram) return known;
    return new Histogram({ name, help, labelNames, buckets, registers: [this.#register] });
  }
}

const MODEL = ["model", "provider"] as const;
const MODEL_STATUS = ["model", "provider", "status"] as const;
const TOOL_STATUS = ["tool", "status"] as const;

function countInference(meters: Meters, { model, provider, usage, costUsd, errorType, durationMs }: InferenceEvent): void {
  const labels = { model, provider };
  const status = errorType === undefined ? "ok" : "error";
  meters.inferences().inc({ ...labels, status });
  meters.inferenceSeconds().observe({ ...labels, status }, durationMs / 1000);
  if (errorType !== undefined) meters.inferenceErrors().inc({ ...labels, class: errorType });
  const counts = {
    input: usage.inputTokens,
    output: usage.outputTokens,
    total: usage.totalTokens,
    thinking: usage.reasoningTokens,
    cache_read_input: usage.cacheReadTokens,
    cache_creation_input: usage.cacheWriteTokens,
  };
  for (const [type, count] of Object.entries(counts)) if (count !== undefined && count > 0) meters.tokens().inc({ ...labels, type }, count);
  if (costUsd !== undefined) meters.costUsd().inc(labels, costUsd);
}

function countTool(meters: Meters, event: ToolEvent): void {
  const { errorType, errorClass, durationMs } = event;
  const tool = toolLabel(event);
  const status = errorType === undefined ? "ok" : "error";
  meters.tools().inc({ tool, status });
  meters.toolSeconds().observe({ tool, status }, durationMs / 1000);
  if (errorType !== undefined) meters.toolErrors().inc({ tool, class: errorClass ?? errorType });
}

function count(meters: Meters, event: TelemetryEvent): void {
  switch (event.type) {
    case "inference":
      countInference(meters, event);
      return;
    case "tool":
      countTool(meters, event);
      return;
    case "suspension":
      meters.suspensions().inc({ action: event.action, resume_mode: event.resumeMode ?? "none" });
      return;
    case "handoff":
      meters.handoffs().inc();
      return;
    case "delegation": {
      const status = event.success ? "ok" : "error";
      meters.delegations().inc({ status });
      if (event.durationMs !== undefined) meters.delegationSeconds().observe({ status }, event.durationMs / 1000);
      return;
    }
    case "background-task": {
      const labels = { task_type: event.taskType, status: event.status };
      meters.tasks().inc(labels);
      if (event.completedAt !== undefined) meters.taskSeconds().observe(labels, (event.completedAt - event.createdAt) / 1000);
      return;
    }
    case "run":
      meters.sessionSeconds().observe(event.durationMs / 1000);
      return;
    case "evaluation-result":
  }
}

/** Counts what runs do, with `prom-client`. Nothing else in the process counts it a second time. */
export function prometheus(options: PrometheusOptions = {}): PrometheusSink {
  let ready: { readonly meters: Meters; readonly register: Registry } | undefined;
  const load = async () => {
    if (ready !== undefined) return ready;
    const prom = await importProm();
    const register: MetricRegistry = options.register ?? prom.register;
    if (!isRegistry(register)) throw new AwakenError("invalid_plugin", "prometheus(): `register` must be a Registry of prom-client");
    ready = { meters: new Meters(prom, register), register };
    return ready;
  };
  return {
    name: "prometheus",
    async open() {
      await load();
    },
    record(event) {
      if (ready !== undefined) count(ready.meters, event);
    },
    metrics: async () => (await load()).register.metrics(),
    contentType: "text/plain; version=0.0.4; charset=utf-8",
  };
}
