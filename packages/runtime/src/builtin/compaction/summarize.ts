import {
  type CompactionOrder,
  type CompactionSection,
  InferenceError,
  type InferenceRequest,
  type Log,
  messageId,
  type Provider,
} from "@awaken/contract";
import { type InferencePolicy, infer } from "../../inference/infer.ts";
import type { Clock } from "../../stream/clock.ts";
import type { Ids } from "../../stream/ids.ts";

const SYSTEM_PROMPT = `You condense conversations between a user and an assistant that works with tools.
Keep what the assistant needs to go on: goals and constraints of the user, decisions and their reasons, facts and results that were found,
names, paths and ids exactly as written, what is done and what is still open. Leave out greetings and what was superseded.
Answer with the summary only.`;

const USER_PROMPT = `Summary of what came before, empty if there is none:
<previous-summary>
{previous_summary}
</previous-summary>

The conversation since then:
<messages>
{messages}
</messages>

Write one summary of all of it.`;

/** Filled in one pass: what the conversation says is never taken for a placeholder. */
function fillPrompt(template: string, { previousSummary, transcript }: CompactionOrder): string {
  return template.replace(/\{(previous_summary|messages)\}/g, (_whole, name) => (name === "messages" ? transcript : previousSummary));
}

export interface Summarizer {
  readonly provider: Provider;
  /** The agent's own, as its provider knows it. */
  readonly model: string;
  readonly ids: Ids;
  readonly log: Log;
  readonly policy: InferencePolicy;
  readonly section: CompactionSection;
}

function buildRequest({ model, ids, section }: Summarizer, order: CompactionOrder): InferenceRequest {
  const text = fillPrompt(section.summarizerUserPrompt ?? USER_PROMPT, order);
  const id = messageId(ids());
  return {
    model: section.summaryModel ?? model,
    system: section.summarizerSystemPrompt ?? SYSTEM_PROMPT,
    messages: [{ id, role: "user", content: [{ type: "text", text }] }],
    tools: [],
    overrides: { maxTokens: section.summaryMaxTokens },
    promptCache: false,
    routing: { inferenceId: id },
  };
}

/** The summary of what the order captured. Throws when the model does not give one; after an abort it means nothing. */
export async function summarize(summarizer: Summarizer, order: CompactionOrder, clock: Clock, signal: AbortSignal): Promise<string> {
  const { provider, ids, log } = summarizer;
  const request = buildRequest(summarizer, order);
  // A summary that reaches its limit is short enough as it is, so it is not continued.
  const policy = { ...summarizer.policy, maxContinuationRetries: 0 };
  const { turn } = await infer({ provider, request, signal, clock, ids, log, emit: () => {}, policy });
  if (turn.stopReason === "error") throw new InferenceError(turn.failure);
  return turn.text.trim();
}
