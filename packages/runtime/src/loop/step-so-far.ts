import type { Entry } from "../inference/collected.ts";
import type { TurnPart } from "../inference/turn-part.ts";
import type { StepProgress, StepStart, StreamFact } from "./step-progress.ts";

/** A step that is not on record, as far as it came. */
export interface StepSoFar {
  readonly start: StepStart;
  readonly facts: readonly StreamFact[];
  readonly parts: readonly TurnPart[];
}

const NOTHING: readonly never[] = Object.freeze([]);

/** What clients have heard since the last reset. */
function partsOf(entries: readonly Entry[]): readonly TurnPart[] {
  return entries.flatMap((entry): readonly TurnPart[] => {
    if (entry.type === "whole" || (entry.type === "call" && (!entry.isOurs || entry.name === ""))) return [];
    if (entry.type === "call") return [{ type: "call", id: entry.id, name: entry.name, input: entry.input }];
    const { type, text, signature } = entry;
    return [{ type, text, ...(signature === undefined ? undefined : { signature }) }];
  });
}

/** Undefined before the first step of this activation. */
export function stepSoFar({ step, messageId, agentId, facts, turn }: StepProgress): StepSoFar | undefined {
  if (messageId === undefined) return undefined;
  const start: StepStart = { type: "step-start", step, messageId, agentId };
  return { start, facts: facts ?? NOTHING, parts: turn === undefined ? NOTHING : partsOf(turn.entries) };
}
