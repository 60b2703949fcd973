import { type AgentEvent, EVENT_TABLE, isJsonObject, type RunId, readEventOf } from "@awaken/contract";
import type { TurnPart } from "../inference/turn-part.ts";
import { isProgressOf } from "../loop/progress-of.ts";
import type { StreamFact } from "../loop/step-progress.ts";
import type { StepSoFar } from "../loop/step-so-far.ts";
import type { ActiveRun } from "../run/active-runs.ts";

/** What only whoever listens hears, and what is no part of an answer: it is passed on as it comes, or not at all. */
export interface PassingEvent {
  /** The step that was under way. */
  readonly step: number;
  readonly event: AgentEvent;
}

const PASSING: ReadonlySet<AgentEvent["type"]> = new Set<AgentEvent["type"]>([
  "inference-retry",
  "tool-call-run",
  "tool-call-stream-delta",
  "activity-snapshot",
  "state-snapshot",
]);

export const isPassing = ({ type }: AgentEvent): boolean => PASSING.has(type);

/** How far the calls of a run are that is executed here, and those of the runs that it waits for, for whoever was not there when they said so. */
export function reportsOf({ ctx, below }: ActiveRun): readonly PassingEvent[] {
  const reports = [...(ctx?.progress.reports ?? [])];
  for (const { runId, ctx: child } of below ?? [])
    reports.push(...(child?.progress.reports ?? []).filter((event) => isProgressOf(runId, event)));
  return reports.map((event) => ({ step: ctx?.progress.step ?? 0, event }));
}

const isEventType = (type: unknown): type is AgentEvent["type"] => typeof type === "string" && Object.hasOwn(EVENT_TABLE, type);

/** An event that came from another process. */
export function readEvent(value: unknown): AgentEvent | undefined {
  return isJsonObject(value) && isEventType(value["type"]) ? readEventOf(value["type"], value) : undefined;
}

/** The step of a run that is under way, as whoever executes it tells. */
export interface LiveStep {
  readonly runId: RunId;
  /** When the one that tells of it has written the run's record last: one that was taken over from is behind the record. */
  readonly writtenAt: number;
  readonly soFar: StepSoFar;
}

/** A step as its events tell of it. */
export class HeardStep {
  #soFar: StepSoFar | undefined;

  get current(): StepSoFar | undefined {
    return this.#soFar;
  }

  /** False when a part of an answer comes whose beginning was missed. */
  hear(event: AgentEvent): boolean {
    if (event.type === "step-start") {
      this.#soFar = { start: event, facts: [], parts: [] };
      return true;
    }
    if (this.#soFar === undefined) return false;
    const { start, facts, parts } = this.#soFar;
    if (event.type === "stream-reset" || event.type === "tool-call-cancel") {
      this.#soFar = { start, facts: [...facts, event], parts: withoutVoid(parts, event) };
    } else this.#soFar = { start, facts, parts: extended(parts, event) };
    return true;
  }

  forget(): void {
    this.#soFar = undefined;
  }
}

function withoutVoid(parts: readonly TurnPart[], fact: StreamFact): readonly TurnPart[] {
  return fact.type === "stream-reset" ? [] : parts.filter((part) => part.type !== "call" || part.id !== fact.toolCallId);
}

function extended(parts: readonly TurnPart[], event: AgentEvent): readonly TurnPart[] {
  const last = parts.at(-1);
  switch (event.type) {
    case "text-delta":
    case "reasoning-delta": {
      const type = event.type === "text-delta" ? "text" : "reasoning";
      if (last?.type !== type || last.signature !== undefined) return [...parts, { type, text: event.delta }];
      return parts.with(-1, { type, text: last.text + event.delta });
    }
    case "reasoning-encrypted-value": {
      const signature = event.encryptedValue;
      return last?.type === "reasoning" ? parts.with(-1, { ...last, signature }) : [...parts, { type: "reasoning", text: "", signature }];
    }
    case "tool-call-start":
      return [...parts, { type: "call", id: event.toolCallId, name: event.toolName, input: "" }];
    case "tool-call-delta":
      return parts.map((part) =>
        part.type === "call" && part.id === event.toolCallId ? { ...part, input: part.input + event.delta } : part,
      );
    default:
      return parts;
  }
}
