export type { CapturedValue, CaptureOptions } from "./capture.ts";
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
export type { Beginning, Following, RunFollower, RunOpening, Sink, SinkHost } from "./sink.ts";
