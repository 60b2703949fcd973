import { type Message, messageText, messageToolCalls } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import type { Runtime } from "@awaken/runtime";
import { expect } from "vitest";
import { type Followed, follow, storedMessages, storedText } from "./follow.ts";
import type { Reservations } from "./reservations.ts";
import { answerItems, answerText, answerTo, finalText, itemsIn, taskInput, taskItems } from "./task.ts";

/** A task that was run: what the client saw and what the store has. */
export interface Outcome {
  readonly task: number;
  readonly agent: string;
  readonly followed: Followed;
  readonly messages: readonly Message[];
}

export interface TaskRun {
  readonly runtime: Runtime;
  readonly store: Store;
  readonly agent: string;
  readonly task: number;
  readonly thread?: string;
}

export async function runTask({ runtime, store, agent, task, thread = `thread-${task}` }: TaskRun): Promise<Outcome> {
  const followed = await follow(runtime.stream({ agent, thread, input: taskInput(task) }));
  return { task, agent, followed, messages: await storedMessages(store, thread) };
}

export function expectNaturalEnd(outcomes: readonly Outcome[]): void {
  const others = outcomes.filter(({ followed }) => followed.result.termination.type !== "natural-end");
  expect(others.map(({ task, agent, followed }) => ({ task, agent, ...followed.result.termination }))).toEqual([]);
}

/** What a client put together is what the next reader of the thread finds. */
export function expectSameText({ task, followed, messages }: Outcome): void {
  const { runId } = followed.result;
  expect(followed.text, `task ${task}`).toBe(storedText(messages, runId, "text"));
  expect(followed.reasoning, `task ${task}`).toBe(storedText(messages, runId, "reasoning"));
  expect(followed.result.text, `task ${task}`).toBe(finalText(task));
}

/** Each stored message is what the model meant to say there. Only a stream that broke after a complete call leaves the rest unsaid. */
export function expectMeantText({ task, messages }: Outcome): void {
  const done = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") for (const item of itemsIn(messageText(message))) done.add(item);
    if (message.role !== "assistant") continue;
    const text = messageText(message);
    const items = messageToolCalls(message).flatMap(({ input }) => itemsIn(JSON.stringify(input)).slice(0, 1));
    const meant = answerTo(task, done);
    expect(answerItems(meant).slice(0, items.length), `task ${task}`).toEqual(items);
    if (items.length === 0 || items.length === answerItems(meant).length) expect(text, `task ${task}`).toBe(answerText(meant));
    else expect(answerText(meant).startsWith(text), `task ${task}: ${text}`).toBe(true);
  }
}

/** No call ran twice, and what the tasks are about happened exactly once each. */
export function expectOnce({ byItem, byKey }: Reservations, tasks: readonly number[]): void {
  const expected = tasks.flatMap(taskItems);
  expect([...byKey].filter(([, times]) => times !== 1)).toEqual([]);
  expect([...byItem].filter(([, times]) => times !== 1)).toEqual([]);
  expect(new Set(byItem.keys())).toEqual(new Set(expected));
  expect(byKey.size).toBe(expected.length);
}

/** Streams of this run that started over, and turns that were cut short after a complete call: those were never paid for. */
export function recoveries({ followed }: Outcome): { readonly restarted: number; readonly cutShort: number; readonly lostCalls: number } {
  const { events } = followed;
  return {
    restarted: events.filter(({ type }) => type === "stream-reset").length,
    cutShort: events.filter((event) => event.type === "inference-end" && event.usage.totalTokens === 0).length,
    lostCalls: events.filter(({ type }) => type === "tool-call-cancel").length,
  };
}
