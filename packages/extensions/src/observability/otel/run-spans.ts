import type { Attributes, Context, Link, Span, SpanContext, Tracer } from "@opentelemetry/api";
import type { InferenceEvent, RunEvent, TelemetryContext, TelemetryEvent, ToolEvent } from "../events.ts";
import type { Beginning, Following, RunFollower, RunOpening } from "../sink.ts";
import { contextAttributes, inferenceEnd, inferenceStart, runEnd, toolEnd, toolStart } from "./attributes.ts";
import { instantSpan } from "./instant-spans.ts";
import { fromTraceParent, toTraceParent } from "./trace-parent.ts";

/** What is used of `@opentelemetry/api`. */
export type OtelApi = Pick<typeof import("@opentelemetry/api"), "context" | "trace" | "ROOT_CONTEXT" | "SpanKind" | "SpanStatusCode">;

/** A run that goes on is where it was; a new one is where its caller says, else where the program is. */
function placeOf(
  api: OtelApi,
  run: RunOpening,
): { readonly parent: Context; readonly root: SpanContext | undefined; readonly links: Link[] } {
  const active = api.context.active();
  const around = api.trace.getSpanContext(active);
  const given = fromTraceParent(run.traceParent);
  const previous = fromTraceParent(run.previous);
  const links: Link[] = previous === undefined ? [] : [{ context: previous, attributes: { "awaken.link.kind": "previous-activation" } }];
  if (given === undefined) return { parent: active, root: around, links };
  // The call, or the request, that made the run go on is another trace; inside of one it is nearer than what was written down.
  if (around !== undefined && around.traceId === given.traceId && !run.isContinuation && run.previous === undefined) {
    return { parent: active, root: around, links };
  }
  if (around !== undefined && around.spanId !== given.spanId) {
    links.push({ context: around, attributes: { "awaken.link.kind": "caller" } });
  }
  return { parent: api.trace.setSpanContext(api.ROOT_CONTEXT, given), root: given, links };
}

const INVOKE = { "gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "awaken" };

class RunSpans implements RunFollower {
  readonly span: string | undefined;
  readonly root: string | undefined;
  readonly #api: OtelApi;
  readonly #tracer: Tracer;
  readonly #run: Span;
  readonly #inRun: Context;
  /** The inference that asked for the calls of this step. */
  #inference: { readonly step: number; readonly within: Context; readonly span: Span } | undefined;
  #shared: { readonly of: TelemetryContext; readonly attributes: Attributes } | undefined;

  constructor(api: OtelApi, tracer: Tracer, run: RunOpening) {
    this.#api = api;
    this.#tracer = tracer;
    const { parent, root, links } = placeOf(api, run);
    this.#run = tracer.startSpan(`invoke_agent ${run.context.agentId}`, { kind: api.SpanKind.INTERNAL, attributes: INVOKE, links }, parent);
    this.#inRun = api.trace.setSpan(parent, this.#run);
    if (!this.#run.isRecording()) return;
    this.#run.setAttributes({ ...this.#sharedBy(run.context), "awaken.run.resumed": run.isContinuation });
    this.span = toTraceParent(this.#run.spanContext());
    this.root = root === undefined ? this.span : toTraceParent(root);
  }

  /** A span that is only passed on, e.g. one that a sampler left out, has an id all the same. */
  get isNoticed(): boolean {
    return this.#run.isRecording() || toTraceParent(this.#run.spanContext()) !== undefined;
  }

  begin(begun: Beginning): Following {
    return begun.type === "inference" ? this.#beginInference(begun) : this.#beginTool(begun);
  }

  skip(event: ToolEvent): void {
    const span = this.#startTool(event, this.#inference?.step !== event.step);
    this.#endTool(span, event);
  }

  record(event: Exclude<TelemetryEvent, InferenceEvent | ToolEvent | RunEvent>): void {
    if (!this.#run.isRecording()) return;
    const { name, attributes, startTime, endTime, isEvent, errorType } = instantSpan(event);
    if (isEvent) {
      const inference = this.#inference?.span;
      (inference?.isRecording() === true ? inference : this.#run).addEvent(name, attributes, startTime);
      return;
    }
    const options = { kind: this.#api.SpanKind.INTERNAL, attributes: { ...this.#sharedBy(event.context), ...attributes }, startTime };
    const span = this.#tracer.startSpan(name, options, this.#inRun);
    if (errorType !== undefined) this.#fail(span, errorType);
    span.end(endTime);
  }

  end(event: RunEvent): void {
    if (this.#run.isRecording()) {
      this.#run.setAttributes({ ...this.#sharedBy(event.context), ...runEnd(event) });
      if (event.outcome === "failed") this.#fail(this.#run, event.errorType ?? "failed");
    }
    this.#run.end();
  }

  /** What all spans of the run say, made once for as long as it is the same. */
  #sharedBy(context: TelemetryContext): Attributes {
    if (this.#shared?.of !== context) this.#shared = { of: context, attributes: contextAttributes(context) };
    return this.#shared.attributes;
  }

  #beginInference(begun: Extract<Beginning, { type: "inference" }>): Following {
    const attributes = this.#run.isRecording() ? { ...this.#sharedBy(begun.context), ...inferenceStart(begun) } : {};
    const span = this.#tracer.startSpan(`chat ${begun.model}`, { kind: this.#api.SpanKind.CLIENT, attributes }, this.#inRun);
    const within = this.#api.trace.setSpan(this.#inRun, span);
    this.#inference = { step: begun.step, within, span };
    return {
      inside: (work) => this.#api.context.with(within, work),
      retry: (attempt, delayMs) => {
        span.addEvent("awaken.inference.retry", { "awaken.retry.attempt": attempt, "awaken.retry.delay_ms": delayMs });
      },
      end: (event) => {
        if (event.type === "inference" && span.isRecording()) {
          span.setAttributes(inferenceEnd(event));
          if (event.model !== begun.model) span.updateName(`chat ${event.model}`);
          if (event.errorType !== undefined) this.#fail(span, event.errorType);
        }
        span.end();
      },
    };
  }

  #beginTool(begun: Extract<Beginning, { type: "tool" }>): Following {
    const span = this.#startTool(begun, begun.isReplay);
    const within = this.#api.trace.setSpan(this.#inRun, span);
    return {
      traceParent: toTraceParent(span.spanContext()),
      inside: (work) => this.#api.context.with(within, work),
      end: (event) => {
        if (event.type === "tool") this.#endTool(span, event);
      },
    };
  }

  /** Under the inference that asked for it; where nobody here saw that, under the run, and marked. */
  #startTool(tool: Pick<ToolEvent, "context" | "name" | "callId" | "step">, isReplay: boolean): Span {
    const asked = isReplay || this.#inference?.step !== tool.step ? undefined : this.#inference;
    const attributes = this.#run.isRecording() ? { ...this.#sharedBy(tool.context), ...toolStart(tool, asked === undefined) } : {};
    const options = { kind: this.#api.SpanKind.INTERNAL, attributes };
    return this.#tracer.startSpan(`execute_tool ${tool.name}`, options, asked?.within ?? this.#inRun);
  }

  #endTool(span: Span, event: ToolEvent): void {
    if (span.isRecording()) {
      const attributes = toolEnd(event);
      span.setAttributes(attributes);
      if (event.errorType !== undefined) this.#fail(span, event.errorClass ?? event.errorType);
    }
    span.end();
  }

  /** The text of a failure may repeat what a tool or a model was sent, so the status has none. */
  #fail(span: Span, errorType: string): void {
    span.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    span.setAttribute("error.type", errorType);
  }
}

/** The spans of one run, as long as it is active here. Undefined without an SDK: then there is nothing to record, and nothing to hand on. */
export function followRun(api: OtelApi, tracer: Tracer, run: RunOpening): RunFollower | undefined {
  const spans = new RunSpans(api, tracer, run);
  return spans.isNoticed ? spans : undefined;
}
