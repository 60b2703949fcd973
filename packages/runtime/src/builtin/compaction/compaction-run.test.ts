import { type InferenceRequest, type Message, messageId, messageText } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { toContextPolicy } from "../../inference/context-policy.test-support.ts";
import { summaryText } from "../../prompt/summary-message.ts";
import { countingIds, fakeClock } from "../../testing/fake-clock.ts";
import { runScripted, userMessage } from "../../testing/run-scripted.ts";
import { stall, text, toolCall } from "../../testing/script.ts";
import { scripted } from "../../testing/scripted.ts";
import { ThreadLog } from "../../testing/thread-log.ts";
import { defineTool } from "../../tool/define-tool.ts";
import { contextWindow } from "../context-window/context-window.ts";
import { compaction } from "./compaction.ts";

const LONG = "x".repeat(8_000);
const policy = toContextPolicy({ autocompactThreshold: 2_000, compactionRawSuffixMessages: 1 });

async function oldThread(): Promise<ThreadLog> {
  const thread = new ThreadLog();
  const answer: Message = { id: messageId("old-answer"), role: "assistant", content: [{ type: "text", text: LONG }] };
  for (const message of [userMessage(LONG, "old-question"), answer]) await thread.append(message);
  return thread;
}

const shown = (request: InferenceRequest | undefined) =>
  request?.messages.map((message) => (summaryText(message) === undefined ? message.role : `summary: ${summaryText(message)}`));

describe("compaction in a run", () => {
  test("the step in progress sees the whole, the next one the summary; log and response are right", async () => {
    const clock = fakeClock();
    using summaries = scripted([text("what happened")], { clock });
    const look = defineTool({ id: "look", description: "looks", input: z.object({}), execute: () => clock.advance(0) });
    const thread = await oldThread();
    const plugins = [compaction({ policy, provider: summaries, model: "m", ids: countingIds("task") }), contextWindow(policy)];
    const { model, result } = await runScripted({
      turns: [toolCall("look", {}), text("the answer")],
      tools: [look],
      runtimePlugins: plugins,
      input: "now",
      thread,
      clock,
    });
    expect(shown(model?.requests[0])).toEqual(["user", "assistant", "user"]);
    expect(shown(model?.requests[1])).toEqual(["summary: what happened", "user", "assistant", "tool"]);
    expect(result).toMatchObject({ text: "the answer", termination: { type: "natural-end" } });

    const summary = thread.said.find((message) => summaryText(message) !== undefined);
    expect(summary?.metadata?.compaction).toEqual({ fromSeq: 1, toSeq: 2 });
    const view = thread.history().messages.map(({ message }) => messageText(message));
    expect(view).toEqual([expect.stringContaining("what happened"), "now", "", expect.anything(), "the answer"]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("core-execution 89: what a compaction leaves begins with a user message, in this run and in the next", async () => {
    const clock = fakeClock();
    using summaries = scripted([text("what happened")], { clock });
    const look = defineTool({ id: "look", description: "looks", input: z.object({}), execute: () => clock.advance(0) });
    const thread = await oldThread();
    // The last answer of the thread stays beside the new question: the cut falls in front of an answer.
    const keeping = toContextPolicy({ autocompactThreshold: 2_000, compactionRawSuffixMessages: 2 });
    const more: Message = { id: messageId("short-answer"), role: "assistant", content: [{ type: "text", text: "short" }] };
    await thread.append(more);
    const plugins = [compaction({ policy: keeping, provider: summaries, model: "m", ids: countingIds("task") }), contextWindow(keeping)];
    const first = await runScripted({
      turns: [toolCall("look", {}), text("the answer")],
      tools: [look],
      runtimePlugins: plugins,
      input: "now",
      thread,
      clock,
    });
    const opened = ["summary: what happened", "user", "assistant", "user", "assistant", "tool"];
    expect(shown(first.model?.requests[1])).toEqual(opened);
    const next = await runScripted({ turns: [text("again")], runtimePlugins: [contextWindow(keeping)], input: "next", thread, clock });
    expect(shown(next.model?.requests[0])).toEqual([...opened, "assistant", "user"]);
    expect(thread.said.filter(({ role }) => role === "user").map(messageText)).toEqual([LONG, "now", "next"]);
  });

  test("a summary that comes too late for the run is given up with it", async () => {
    const clock = fakeClock();
    using summaries = scripted([stall(text("never"), 0)], { clock });
    const plugins = [compaction({ policy, provider: summaries, model: "m", ids: countingIds("task") })];
    const thread = await oldThread();
    const { result } = await runScripted({ turns: [text("the answer")], runtimePlugins: plugins, thread, clock });
    await clock.advance(0);
    expect(result.text).toBe("the answer");
    expect(thread.said.some((message) => summaryText(message) !== undefined)).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });
});
