import { AwakenError } from "@awaken/contract";
import type { Tracer, TracerProvider } from "@opentelemetry/api";
import { loadPeer } from "../../peer/load-peer.ts";
import type { Sink } from "../sink.ts";
import { followRun, type OtelApi } from "./run-spans.ts";

/** A `TracerProvider` of OpenTelemetry. Its own type is not named here: programs without the package compile too. */
export interface TracerSource {
  /** Gives the tracer that spans are made with. */
  getTracer(name: string): {
    /** Begins a span. */
    startSpan(...args: never): unknown;
  };
}

export interface OpenTelemetryOptions {
  /** Where spans are made. Default: the provider that the program registered with OpenTelemetry. */
  readonly tracerProvider?: TracerSource;
}

const isProvider = (source: unknown): source is TracerProvider =>
  typeof source === "object" && source !== null && "getTracer" in source && typeof source.getTracer === "function";

const SCOPE = "awaken";

const API = { name: "@opentelemetry/api", neededBy: "openTelemetry()", install: "@opentelemetry/api" };
const importApi = (): Promise<OtelApi> => loadPeer(API, () => import("@opentelemetry/api"));

/**
 * Spans by the GenAI conventions: `invoke_agent` with its `chat` and `execute_tool`, waits and handoffs; the spans that tools and model clients
 * make themselves are inside of them. It speaks to `@opentelemetry/api` alone: the program brings SDK and exporter, and without one it
 * costs next to nothing.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Sink {
  let ready: { readonly api: OtelApi; readonly tracer: Tracer } | undefined;
  return {
    name: "openTelemetry",
    async open() {
      const api = await importApi();
      const provider: unknown = options.tracerProvider ?? api.trace.getTracerProvider();
      if (!isProvider(provider)) throw new AwakenError("invalid_plugin", "openTelemetry(): `tracerProvider` must be a TracerProvider");
      ready = { api, tracer: provider.getTracer(SCOPE) };
    },
    // Everything that it tells of happens in runs.
    record() {},
    follow(run) {
      if (ready === undefined) throw new AwakenError("internal", "openTelemetry() was not opened");
      return followRun(ready.api, ready.tracer, run);
    },
  };
}

/** The span that is active here, for `trace: { traceParent }` of a run that another process may execute. */
export async function activeTraceParent(): Promise<string | undefined> {
  const { trace } = await importApi();
  const { toTraceParent } = await import("./trace-parent.ts");
  const span = trace.getActiveSpan();
  return span === undefined ? undefined : toTraceParent(span.spanContext());
}
