import { isJsonObject, type JsonObject } from "@awaken/contract";
import type { StoredEvent } from "@awaken/contract/store";

/** One line of the waterfall. Times are Unix milliseconds; `endAt` is absent while it lasts. */
export interface TraceSpan {
  readonly type: "step" | "inference" | "tool" | "wait" | "child";
  readonly name: string;
  readonly startAt: number;
  endAt?: number;
  /** What came of it, in a word or two. */
  note: string;
  /** Of a child: the run to look into. */
  readonly runId?: string;
  readonly children: TraceSpan[];
}

/** A run as its stored events tell it. Between `pauses` it was not active anywhere. */
export interface RunTraceView {
  readonly spans: readonly TraceSpan[];
  readonly pauses: readonly { readonly from: number; readonly to: number }[];
}

const text = (payload: JsonObject, key: string): string => {
  const value = payload[key];
  return typeof value === "string" ? value : "";
};
const number = (payload: JsonObject, key: string): number => {
  const value = payload[key];
  return typeof value === "number" ? value : 0;
};
const object = (payload: JsonObject, key: string): JsonObject => {
  const value = payload[key];
  return isJsonObject(value) ? value : {};
};

const ticketIn = (payload: JsonObject): JsonObject => ({ ...object(payload, "ticket"), ...payload });

const ENDED = new Set(["run-finished", "run-cancelled", "run-errored", "run-terminated", "run-suspended"]);

/**
 * Facts carry the time of their commit. An inference also says how long it took: it began when what was before it was on record, and its
 * calls began when it ended.
 */
class Reader {
  readonly spans: TraceSpan[] = [];
  readonly pauses: { from: number; to: number }[] = [];
  readonly #tools = new Map<string, TraceSpan>();
  readonly #waits = new Map<string, TraceSpan>();
  readonly #children = new Map<string, TraceSpan>();
  readonly #names = new Map<string, string>();
  #step: TraceSpan | undefined;
  #asked: string[] = [];
  /** The commit before the one that is read, and that one. */
  #cursor = 0;
  #at: number | undefined;
  #pausedAt: number | undefined;

  read({ kind, payload, createdAt, runId }: StoredEvent): void {
    // A run is told of the tickets below it, too; they are drawn where they are.
    if (kind === "ticket-open" && !["", runId].includes(text(ticketIn(payload), "runId"))) return;
    if (this.#at === undefined) this.#cursor = createdAt;
    else if (createdAt > this.#at) this.#cursor = this.#at;
    this.#at = createdAt;
    this.#take(kind, payload, createdAt);
    if (ENDED.has(kind)) this.#end(kind, createdAt);
    if (this.#step !== undefined && createdAt > (this.#step.endAt ?? 0)) this.#step.endAt = createdAt;
  }

  #take(kind: string, payload: JsonObject, at: number): void {
    switch (kind) {
      case "run-resumed":
        if (this.#pausedAt !== undefined) this.pauses.push({ from: this.#pausedAt, to: at });
        this.#pausedAt = undefined;
        this.#step = undefined;
        this.#cursor = at;
        return;
      case "tool-call-ready":
        this.#asked.push(text(payload, "toolCallId"));
        this.#names.set(text(payload, "toolCallId"), text(payload, "toolName"));
        return;
      case "inference-complete":
        this.#inference(payload, at);
        return;
      case "tool-call-done":
      case "tool-call-rejected":
      case "tool-call-timed-out":
      case "tool-call-suspended":
      case "tool-call-resumed":
        this.#toolEnd(kind, payload, at);
        return;
      case "ticket-open":
        this.#wait(payload, at);
        return;
      case "decision-taken":
        this.#decide(payload);
        return;
      case "child-start":
        this.#childStart(payload, at);
        return;
      case "child-end":
        this.#childEnd(payload, at);
        return;
      default:
    }
  }

  #inference(payload: JsonObject, at: number): void {
    const usage = object(payload, "usage");
    const startAt = this.#cursor;
    const endAt = Math.min(Math.max(at, startAt), startAt + number(payload, "durationMs"));
    const finish = text(payload, "finishReason");
    const note = `${number(usage, "inputTokens")} in, ${number(usage, "outputTokens")} out${finish === "error" ? ", failed" : ""}`;
    const count = this.spans.filter(({ type }) => type === "step").length + 1;
    const inference: TraceSpan = { type: "inference", name: text(payload, "model"), startAt, endAt, note, children: [] };
    this.#step = { type: "step", name: `step ${count}`, startAt, endAt, note: "", children: [inference] };
    this.spans.push(this.#step);
    for (const id of this.#asked) {
      const tool: TraceSpan = { type: "tool", name: this.#names.get(id) ?? id, startAt: endAt, note: "", children: [] };
      this.#tools.set(id, tool);
      this.#step.children.push(tool);
    }
    this.#asked = [];
  }

  #toolEnd(kind: string, payload: JsonObject, at: number): void {
    const id = text(payload, "toolCallId");
    const known = this.#tools.get(id);
    const isReplayed = kind === "tool-call-resumed";
    const tool: TraceSpan =
      known !== undefined && !isReplayed
        ? known
        : { type: "tool", name: text(payload, "toolName"), startAt: Math.min(this.#cursor, at), note: "", children: [] };
    if (tool !== known) (this.#step?.children ?? this.spans).push(tool);
    tool.endAt = Math.max(at, tool.startAt);
    tool.note = kind === "tool-call-suspended" ? "waits" : text(payload, "outcome");
  }

  #wait(payload: JsonObject, at: number): void {
    const ticket = ticketIn(payload);
    const id = text(ticket, "toolCallId");
    const name = this.#names.get(id) ?? (text(ticket, "toolName") || id);
    const wait: TraceSpan = { type: "wait", name, startAt: at, note: "open", children: [] };
    this.#waits.set(text(ticket, "ticketId") || text(ticket, "id"), wait);
    this.spans.push(wait);
  }

  #decide(payload: JsonObject): void {
    const wait = this.#waits.get(text(payload, "ticketId"));
    if (wait === undefined) return;
    wait.endAt = Math.max(wait.startAt, number(payload, "decidedAt"));
    wait.note = `${text(payload, "action")}${text(payload, "by") === "" ? "" : ` by ${text(payload, "by")}`}`;
  }

  #childStart(payload: JsonObject, at: number): void {
    const runId = text(payload, "runId");
    const child: TraceSpan = { type: "child", name: text(payload, "agentId"), startAt: at, note: "", runId, children: [] };
    this.#children.set(runId, child);
    (this.#tools.get(text(payload, "toolCallId"))?.children ?? this.spans).push(child);
  }

  #childEnd(payload: JsonObject, at: number): void {
    const child = this.#children.get(text(payload, "runId"));
    if (child === undefined) return;
    child.endAt = at;
    child.note = text(object(payload, "outcome"), "status");
  }

  /** What was given up with the run ends with it. */
  #end(kind: string, at: number): void {
    if (kind === "run-suspended") {
      this.#pausedAt = at;
      return;
    }
    for (const wait of this.#waits.values()) {
      if (wait.endAt !== undefined) continue;
      wait.endAt = at;
      wait.note = "given up";
    }
  }
}

export function readTrace(events: readonly StoredEvent[]): RunTraceView {
  const reader = new Reader();
  for (const event of events) reader.read(event);
  return { spans: reader.spans, pauses: reader.pauses };
}
