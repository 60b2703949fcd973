import type { AgentEvent, RunId } from "@awaken/contract";
import type { PassingEvent } from "./live-event.ts";

/** What came and was not told; a reader that is too slow for it loses it, and goes on from the log. */
const MAX_PASSING = 256;

/** Who says it: a run that goes on is another one each time. Whoever says it elsewhere is not known. */
export type Source = object | undefined;

interface Heard extends PassingEvent {
  readonly runId: RunId;
  readonly source: Source;
}

/** Where a reader is. */
export interface Scene {
  /** The run that is under way. */
  readonly run: RunId | undefined;
  /** The one that came to its end last. */
  readonly done: RunId | undefined;
  /** The last step whose turn was told. */
  readonly step: number;
  /** Calls of that step without an end; undefined when the step is over. */
  readonly pending: number | undefined;
  /** The step whose answer is being told. */
  readonly shown: number | undefined;
  /** The run has just begun, or gone on: it is at calls that waited, before its next step. */
  readonly isOpening: boolean;
  isCallOver(toolCallId: string): boolean;
}

type Place = "ahead" | "here" | "over";

/** They say how something stands: the last one counts, and it counts until the run is over. */
const isSnapshot = ({ type }: AgentEvent): boolean => type === "activity-snapshot" || type === "state-snapshot";

const keyOf = (event: AgentEvent): string | undefined => {
  if (event.type === "activity-snapshot") return `${event.messageId} ${event.activityType}`;
  return event.type === "state-snapshot" ? event.type : undefined;
};

/** Where something belongs that only listeners hear. */
function placeOf({ runId, step, event, source }: Heard, scene: Scene): Place {
  // What is said elsewhere comes late: outside of its run it is of before, unless it says how something stands.
  if (runId !== scene.run) return runId === scene.done || (source === undefined && !isSnapshot(event)) ? "over" : "ahead";
  const { shown, pending } = scene;
  if (event.type === "inference-retry") {
    if (shown === step) return "here";
    return step > scene.step && shown === undefined ? "ahead" : "over";
  }
  if (step > scene.step) return "ahead";
  if (isSnapshot(event)) {
    // Never inside of an answer; the state comes behind the round.
    const isEarly = shown !== undefined || (event.type === "state-snapshot" && (pending ?? 0) > 0);
    return isEarly ? "ahead" : "here";
  }
  if ("toolCallId" in event && scene.isCallOver(event.toolCallId)) return "over";
  // Until its first step a run is in none: calls that waited are told of there.
  const isOfRound = step === scene.step || (step === 0 && scene.isOpening);
  return isOfRound && shown === undefined ? "here" : "over";
}

/** Of what is too much, how things stand is kept. */
export function withHeard<T extends PassingEvent>(all: T[], heard: T): T[] {
  all.push(heard);
  if (all.length <= MAX_PASSING) return all;
  const last = new Map<string, T>();
  for (const each of all) {
    const key = keyOf(each.event);
    if (key === undefined) continue;
    last.delete(key);
    last.set(key, each);
  }
  return [...last.values()].slice(-MAX_PASSING / 2);
}

/** What one reader has heard, and is told where it belongs. */
export class Passing {
  #heard: Heard[] = [];
  /** Of what is told of the run that is under way. What another one says is of later. */
  #source: Source;
  /** Nothing is told as long as the reader only reads. */
  isHeld = false;

  /** More would soon be too much. */
  get isCrowded(): boolean {
    return this.#heard.length >= MAX_PASSING / 2;
  }

  hear(runId: RunId, passing: readonly PassingEvent[], source?: Source): void {
    for (const { step, event } of passing) this.#heard = withHeard(this.#heard, { runId, step, event, source });
  }

  /** What may be told now; what is over is not told any more. */
  take(scene: Scene, isWanted: (event: AgentEvent, step: number) => boolean = () => true): readonly AgentEvent[] {
    if (this.#heard.length === 0 || this.isHeld) return [];
    const told: AgentEvent[] = [];
    this.#heard = this.#heard.filter((heard) => {
      const place = this.#isNow(heard, scene.run) ? placeOf(heard, scene) : "ahead";
      if (place === "ahead" || !isWanted(heard.event, heard.step)) return true;
      if (place === "here") told.push(heard.event);
      return false;
    });
    return told;
  }

  /** A run begins, or goes on. Of one that was cut off, only how things stood is still of use. */
  begin(runId: RunId, isCutOff: boolean): void {
    if (isCutOff) this.#heard = this.#heard.flatMap((heard) => (this.#isNow(heard, runId) ? asNobodys(heard) : [heard]));
    this.#source = undefined;
  }

  /** A run ends, or waits: what is left of how things stand is told, and the rest is not. */
  end(runId: RunId, isDone: boolean): readonly AgentEvent[] {
    if (this.isHeld) return [];
    const told: AgentEvent[] = [];
    this.#heard = this.#heard.filter((heard) => {
      if (heard.runId !== runId || !(isDone || this.#isNow(heard, runId))) return true;
      if (isSnapshot(heard.event)) told.push(heard.event);
      return false;
    });
    this.#source = undefined;
    return told;
  }

  /** The first of a run that says something is the one that is told of. */
  #isNow({ runId, source }: Heard, run: RunId | undefined): boolean {
    if (runId !== run || source === undefined) return true;
    this.#source ??= source;
    return this.#source === source;
  }
}

const asNobodys = (heard: Heard): readonly Heard[] => (isSnapshot(heard.event) ? [{ ...heard, source: undefined }] : []);
