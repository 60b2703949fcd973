import { type AgentEvent, isJsonObject, type JsonObject, type RunId, runId, toJson } from "@awaken/contract";
import { MAX_PARCEL_BYTES } from "@awaken/contract/store";
import { type PassingEvent, readEvent } from "./live-event.ts";

/** What processes tell each other about a thread: that somebody wants to hear of it, and what happens. */
export type LiveParcel =
  | { readonly type: "ask" }
  | {
      readonly type: "events";
      readonly runId: RunId;
      /** When the one that tells has written the run's record last. */
      readonly writtenAt: number;
      /** Of the one that tells: another owner is another one. */
      readonly by: string;
      /** Counts from 0: whoever finds a number missing waits for the next beginning of a step. */
      readonly n: number;
      /** Of the answer, in order. */
      readonly events: readonly AgentEvent[];
      readonly passing: readonly PassingEvent[];
    };

export const ASK: JsonObject = Object.freeze({ type: "ask" });

export function readParcel(body: JsonObject): LiveParcel | undefined {
  const { type, by, n, writtenAt, events, passing, runId: run } = body;
  if (type === "ask") return { type };
  if (type !== "events" || typeof by !== "string" || typeof n !== "number" || typeof run !== "string") return undefined;
  if (typeof writtenAt !== "number" || !Array.isArray(events) || !Array.isArray(passing)) return undefined;
  return {
    ...{ type, by, n, writtenAt, runId: runId(run) },
    events: events.flatMap((event) => readEvent(event) ?? []),
    passing: passing.flatMap((each) => readPassing(each) ?? []),
  };
}

function readPassing(value: unknown): PassingEvent | undefined {
  const event = isJsonObject(value) ? readEvent(value["event"]) : undefined;
  const step = isJsonObject(value) ? value["step"] : undefined;
  return event === undefined || typeof step !== "number" ? undefined : { step, event };
}

/** In JSON a character takes six bytes at most. */
const MAX_DELTA = Math.floor(MAX_PARCEL_BYTES / 6 / 2);
/** Of what stands around the events. */
const FRAME_BYTES = 400;

/** Long deltas in pieces that fit. */
function cut(event: AgentEvent): readonly AgentEvent[] {
  if (!("delta" in event) || event.delta.length <= MAX_DELTA) return [event];
  const pieces: AgentEvent[] = [];
  for (let at = 0; at < event.delta.length; at += MAX_DELTA) pieces.push({ ...event, delta: event.delta.slice(at, at + MAX_DELTA) });
  return pieces;
}

const bytes = new TextEncoder();
const sizeOf = (value: unknown): number => bytes.encode(JSON.stringify(value)).length;

interface Filling {
  readonly events: AgentEvent[];
  readonly passing: PassingEvent[];
}

/** In as few parcels as possible, in order; what does not fit into one by itself is left out: the log has what counts. */
export function pack(events: readonly AgentEvent[], passing: readonly PassingEvent[]): readonly Filling[] {
  const all: Filling[] = [];
  let room = 0;
  const put = (size: number, into: (filling: Filling) => void) => {
    if (size + FRAME_BYTES > MAX_PARCEL_BYTES) return;
    if (size > room) {
      all.push({ events: [], passing: [] });
      room = MAX_PARCEL_BYTES - FRAME_BYTES;
    }
    room -= size + 1;
    const last = all.at(-1);
    if (last !== undefined) into(last);
  };
  for (const event of events.flatMap(cut)) put(sizeOf(event), (filling) => filling.events.push(event));
  for (const { step, event } of passing) {
    for (const piece of cut(event)) put(sizeOf(piece) + 30, (filling) => filling.passing.push({ step, event: piece }));
  }
  return all;
}

export function toBody(parcel: Extract<LiveParcel, { type: "events" }>): JsonObject | undefined {
  const body = toJson(parcel);
  return isJsonObject(body) ? body : undefined;
}
