import { brief } from "../printable.ts";
import type { RunTraceView, TraceSpan } from "./read-trace.ts";

const LABEL = 34;
const MARKS: Readonly<Record<TraceSpan["type"], string>> = { step: "", inference: "◆ ", tool: "▸ ", wait: "⏸ ", child: "↳ " };
const BARS: Readonly<Record<TraceSpan["type"], string>> = { step: "─", inference: "█", tool: "▓", wait: "╌", child: "▒" };

const UNITS: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
];

/** A span of time for people: 340 ms, 2.1 s, 3 d. */
export function timeSpan(ms: number): string {
  for (const [size, unit] of UNITS) if (ms >= size) return `${(ms / size).toFixed(1).replace(/\.0$/, "")} ${unit}`;
  return `${Math.round(ms)} ms`;
}

/** Time in which the run was active: what lies between is left out, or days of waiting would hide the seconds of work. */
class Axis {
  readonly #pauses: RunTraceView["pauses"];
  readonly #from: number;
  readonly #length: number;

  constructor({ spans, pauses }: RunTraceView, now: number) {
    this.#pauses = pauses;
    const starts = spans.map(({ startAt }) => startAt);
    const ends = spans.flatMap((span) => (span.type === "wait" ? [span.startAt] : [span.endAt ?? now]));
    this.#from = Math.min(...starts);
    this.#length = Math.max(1, this.#active(Math.max(...ends)));
  }

  /** 0 to 1. */
  at(time: number): number {
    return Math.min(1, Math.max(0, this.#active(time) / this.#length));
  }

  #active(time: number): number {
    let active = time - this.#from;
    for (const { from, to } of this.#pauses) if (time > from) active -= Math.min(time, to) - from;
    return active;
  }
}

function bar(axis: Axis, span: TraceSpan, width: number, now: number): string {
  const from = Math.min(width - 1, Math.floor(axis.at(span.startAt) * width));
  const to = Math.max(from + 1, Math.ceil(axis.at(span.endAt ?? now) * width));
  const length = span.type === "wait" ? 1 : Math.min(width, to) - from;
  return `${" ".repeat(from)}${BARS[span.type].repeat(length)}`.padEnd(width);
}

/** One line for each span, with those below it. `now` ends what still lasts. */
export function drawTrace(view: RunTraceView, now: number, width: number): readonly string[] {
  if (view.spans.length === 0) return [];
  const axis = new Axis(view, now);
  const lines: string[] = [];
  const draw = (span: TraceSpan, depth: number): void => {
    const indent = "  ".repeat(depth);
    const label = `${indent}${brief(`${MARKS[span.type]}${span.name}`, Math.max(8, LABEL - indent.length))}`;
    const lasted = `${timeSpan((span.endAt ?? now) - span.startAt)}${span.endAt === undefined ? " so far" : ""}`;
    const note = span.note === "" ? "" : `  ${brief(span.note, 40)}`;
    lines.push(`${label.padEnd(LABEL)} │${bar(axis, span, width, now)}│ ${lasted}${note}`);
    for (const child of span.children) draw(child, depth + 1);
  };
  for (const span of view.spans) draw(span, 0);
  return lines;
}
