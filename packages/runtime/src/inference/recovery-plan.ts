import { type InferenceFailure, type InferenceRequest, type Message, messageId } from "@awaken/contract";
import type { Ids } from "../stream/ids.ts";
import { callsInFlight, completeCalls } from "./calls-so-far.ts";
import { answeredIds } from "./collected.ts";
import type { Collector } from "./collector.ts";
import type { StreamCheckpoint } from "./stream-checkpoint.ts";
import type { Recovery, Turning } from "./stream-outcome.ts";

/** Text of a cause, as events and errors show it. */
export type BreakCause = "idle stall" | "goaway" | "connection reset" | "provider 503 mid-stream" | "resumed from checkpoint";

const GOAWAY = /goaway|go_away|http\/2 going away|connection: close/i;
const RESET = /connection reset|econnreset/i;
const GATEWAY = /^50[23]|502 bad gateway|503 service unavailable/i;
const CAUSES: readonly BreakCause[] = ["idle stall", "goaway", "connection reset", "provider 503 mid-stream", "resumed from checkpoint"];

function knownCause({ type, message }: InferenceFailure): BreakCause | undefined {
  const own = type === "stream-interrupted" ? CAUSES.find((cause) => message.includes(cause)) : undefined;
  if (own !== undefined) return own;
  if (GOAWAY.test(message)) return "goaway";
  if (RESET.test(message)) return "connection reset";
  return GATEWAY.test(message) ? "provider 503 mid-stream" : undefined;
}

/** Why a stream that failed transiently broke off. */
export const breakCause = (failure: InferenceFailure): BreakCause => knownCause(failure) ?? "connection reset";

/** The same for whoever has to find the mistake: what is not known is told in its own words. */
export const breakText = (failure: InferenceFailure): string => knownCause(failure) ?? `connection reset: ${failure.message}`;

/**
 * What to do about a broken stream:
 * - `synthesize`: run the calls that came whole, ask nothing;
 * - `continue`: let the model go on after the text it said (an unfinished call is dropped);
 * - `restart`: ask the same again.
 */
export type RecoveryPlan = "synthesize" | "continue" | "restart";

export function recoveryPlan(collector: Collector, request: InferenceRequest): RecoveryPlan {
  if (completeCalls(collector).length > 0) return "synthesize";
  // Vendors refuse a blank assistant message, and two halves of constrained JSON do not fit together.
  return collector.text.trim() === "" || request.responseFormat !== undefined ? "restart" : "continue";
}

const CONTINUE =
  "Your reply was interrupted in the middle of the stream; the user has seen everything above. Continue exactly where it stopped, without repeating or introducing anything.";

/** The request with what the model already said and the plea to go on. */
export function continuation(request: InferenceRequest, text: string, ids: Ids): InferenceRequest {
  const said: Message = { id: messageId(ids()), role: "assistant", content: [{ type: "text", text }] };
  const plea: Message = { id: messageId(ids()), role: "user", content: [{ type: "text", text: CONTINUE }], visibility: "internal" };
  return { ...request, messages: [...request.messages, said, plea] };
}

/** Lets go of our calls, and of vendor calls without a result. */
export function dropCalls(collector: Collector): void {
  const answered = answeredIds(collector.entries);
  collector.startOver(collector.entries.filter((entry) => entry.type !== "call" || (!entry.isOurs && answered.has(entry.id))));
}

/** Carries the plan out, and tells clients what no longer counts. */
export function recover({ run, request, collector }: Turning, reason: BreakCause): Recovery {
  const plan = recoveryPlan(collector, request);
  if (plan === "restart") {
    collector.startOver();
    run.emit({ type: "stream-reset", reason });
    return { type: "ask", request: { ...request } };
  }
  const lost = callsInFlight(collector);
  for (const { id, name } of lost) run.emit({ type: "tool-call-cancel", toolCallId: id, toolName: name, reason });
  if (plan === "synthesize") {
    const last = lost.at(-1);
    return { type: "cut", lostCall: last === undefined ? undefined : { id: last.id, name: last.name } };
  }
  dropCalls(collector);
  return { type: "ask", request: continuation(request, collector.text, run.ids) };
}

/** Says again what an earlier process received, so that every client has it, and goes on from there. */
export function resumeFrom(work: Turning, { text, toolCalls, inFlight }: StreamCheckpoint): Recovery {
  const { run, collector } = work;
  const reason = "resumed from checkpoint";
  run.emit({ type: "stream-reset", reason });
  if (text.trim() === "" && toolCalls.length === 0) return { type: "ask", request: work.request };
  collector.add({ type: "text-delta", delta: text });
  for (const { id, name, input } of toolCalls) addCall(collector, id, name, JSON.stringify(input));
  if (inFlight !== undefined) addCall(collector, inFlight.id, inFlight.name, inFlight.partialInput);
  return recover(work, reason);
}

function addCall(collector: Collector, id: string, name: string, delta: string): void {
  collector.add({ type: "tool-call-start", id, name });
  collector.add({ type: "tool-call-delta", id, delta });
}
