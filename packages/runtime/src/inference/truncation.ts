import { type InferenceRequest, type Message, messageId } from "@awaken/contract";
import type { Ids } from "../stream/ids.ts";
import type { Collected } from "./collected.ts";
import type { InferenceRun } from "./inference-run.ts";
import { continuation } from "./recovery-plan.ts";

const SMALLER =
  "Your reply was cut off by the limit of output tokens; all of it was received. Continue exactly where it stopped, without repeating or introducing anything, and in smaller pieces: say less at a time and split large tool inputs into several calls.";

/** Asks to go on. */
export const truncationPlea = (ids: Ids): Message => ({
  id: messageId(ids()),
  role: "user",
  content: [{ type: "text", text: SMALLER }],
  visibility: "internal",
});

/**
 * The request with all that the model said so far, unless that was nothing, and the plea to go on. What was asked for stays what it was,
 * except that half of an answer cannot be held to the schema of a whole one.
 */
function continueTruncated(run: InferenceRun, asked: InferenceRequest, { text, content }: Collected, plea: Message): InferenceRequest {
  const isBlank = text.trim() === "";
  const longer = isBlank
    ? [...asked.messages, plea]
    : [...asked.messages, { id: messageId(run.ids()), role: "assistant", content } as const, plea];
  const { responseFormat, ...rest } = { ...asked, messages: run.reshape?.(longer) ?? longer };
  return isBlank && responseFormat !== undefined ? { ...rest, responseFormat } : rest;
}

/** The next request: after what was said so far, if anything was. */
export function goOn(run: InferenceRun, asked: InferenceRequest, collected: Collected, plea: Message | undefined): InferenceRequest {
  if (plea !== undefined) return continueTruncated(run, asked, collected, plea);
  return collected.text.trim() === "" ? asked : continuation(asked, collected.text, run.ids);
}
