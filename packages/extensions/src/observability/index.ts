export { type BatchingOptions, type BatchingSink, batching } from "./batching.ts";
export type { CapturedValue, CaptureOptions } from "./capture.ts";
export type { DurationSummary } from "./duration-samples.ts";
export type {
  BackgroundTaskEvent,
  DelegationEvent,
  EvaluationEvent,
  HandoffEvent,
  InferenceEvent,
  RunEvent,
  SuspensionEvent,
  TelemetryContext,
  TelemetryEvent,
  ToolEvent,
} from "./events.ts";
export { type MemorySink, memorySink } from "./memory-sink.ts";
export { type ObservabilityOptions, observability, type ReleaseFacts } from "./observability.ts";
export { activeTraceParent, type OpenTelemetryOptions, openTelemetry } from "./otel/open-telemetry.ts";
export { type PrometheusOptions, type PrometheusSink, prometheus } from "./prometheus.ts";
export { type AgentStats, type RuntimeStats, runtimeStats, type ToolStats } from "./runtime-stats.ts";
export type { Beginning, Following, RunFollower, RunOpening, Sink, SinkHost } from "./sink.ts";
export type { StoredTrace, TraceFilter, TraceMark, TraceSummary } from "./trace-files.ts";
export { type TraceStore, type TraceStoreOptions, traceStore } from "./trace-store.ts";
