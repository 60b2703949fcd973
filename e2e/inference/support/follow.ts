import { type AgentEvent, type Content, type Message, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import type { RunResult, RunStream } from "@awaken/runtime";
import { EventChecker } from "@awaken/runtime/testing";

/** A run as a client saw it. */
export interface Followed {
  readonly events: readonly AgentEvent[];
  readonly result: RunResult;
  /** Put together from the deltas; what a reset called void is gone. */
  readonly text: string;
  readonly reasoning: string;
}

/** Reads a run to its end, and fails at the first event out of order. */
export async function follow(run: RunStream): Promise<Followed> {
  const checker = new EventChecker();
  const events: AgentEvent[] = [];
  const steps: { text: string; reasoning: string }[] = [];
  for await (const event of run) {
    checker.see(event);
    events.push(event);
    const step = steps.at(-1);
    if (event.type === "step-start") steps.push({ text: "", reasoning: "" });
    if (step === undefined) continue;
    if (event.type === "text-delta") step.text += event.delta;
    if (event.type === "reasoning-delta") step.reasoning += event.delta;
    if (event.type === "stream-reset") Object.assign(step, { text: "", reasoning: "" });
  }
  checker.end();
  const text = steps.map((step) => step.text).join("");
  return { events, result: await run.result, text, reasoning: steps.map((step) => step.reasoning).join("") };
}

/** The whole log of a thread. */
export async function storedMessages(store: Store, thread: string): Promise<Message[]> {
  const messages: Message[] = [];
  for (let afterSeq: number | undefined = 0; afterSeq !== undefined; ) {
    const page: Awaited<ReturnType<Store["messages"]["list"]>> = await store.messages.list(threadId(thread), {
      visibility: "all",
      afterSeq,
      limit: 200,
    });
    messages.push(...page.items.map(({ message }) => message));
    afterSeq = page.next;
  }
  return messages;
}

/** What the assistant said, or thought, in one run, by the log. */
export function storedText(messages: readonly Message[], runId: string, type: "text" | "reasoning"): string {
  const isSaid = ({ role, metadata }: Message) => role === "assistant" && metadata?.runId === runId;
  const parts = messages.filter(isSaid).flatMap((message): readonly Content[] => message.content);
  return parts.map((part) => (part.type === type ? part.text : "")).join("");
}
