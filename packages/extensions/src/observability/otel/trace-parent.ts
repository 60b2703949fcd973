import type { SpanContext } from "@opentelemetry/api";

const FORM = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})/;
const ZERO = /^0+$/;

/** The W3C header `traceparent` of a span; undefined when nothing records it. */
export function toTraceParent({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  if (ZERO.test(traceId) || ZERO.test(spanId)) return undefined;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

/** Undefined for anything that is none: a header of a stranger must not break a trace. */
export function fromTraceParent(text: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = FORM.exec(text?.trim() ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (ZERO.test(traceId) || ZERO.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}
