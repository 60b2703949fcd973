import { messageId, type Provider, runId, type StreamPart, threadId, type UserMessage } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { createRuntime, defineTool } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { countWork } from "./count-work.ts";

/** One turn with so many calls, then a text. */
const asking = (count: number): Provider => ({
  name: "house",
  async *stream({ messages }): AsyncGenerator<StreamPart> {
    if (messages.at(-1)?.role === "tool") yield { type: "text-delta", delta: "done" };
    else {
      for (let nth = 0; nth < count; nth++) {
        yield { type: "tool-call-start", id: `c${nth}`, name: "echo" };
        yield { type: "tool-call-delta", id: `c${nth}`, delta: `{"n":${nth}}` };
      }
    }
    yield { type: "stop", reason: messages.at(-1)?.role === "tool" ? "end-turn" : "tool-use" };
  },
});

async function playTurn(store: QueueStore, count: number, pure: boolean): Promise<void> {
  await using runtime = createRuntime({
    providers: { house: asking(count) },
    models: { fast: { provider: "house", model: "m" } },
    agents: { assistant: { model: "fast" } },
    tools: [defineTool({ id: "echo", description: "", input: z.object({ n: z.number() }), pure, execute: ({ n }) => ({ n }) })],
    store,
    workers: false,
  });
  const { status } = await runtime.run({ agent: "assistant", thread: "t", input: "Go" });
  if (status !== "done") throw new Error(`the run is ${status}`);
}

const STORES: readonly (readonly [string, number, () => QueueStore])[] = [
  ["memory", 100_000, () => memoryStore()],
  ["SQLite", 10_000, () => sqliteStore(":memory:")],
];

describe.each(STORES)("on %s", (_, threadCount, open) => {
  it.each([true, false])("a call of a turn of a thousand, and of ten thousand, is the work of one of ten (pure: %s)", async (pure) => {
    const work: number[] = [];
    // The first one also does what is done once in a process.
    for (const count of [10, 10, 1_000, 10_000]) {
      await using store = open();
      work.push(await countWork(() => playTurn(store, count, pure)));
    }
    const [, few = 0, more = 0, many = 0] = work;
    const perCall = few / 10;
    expect((more - few) / 990).toBeLessThan(perCall);
    expect((many - more) / 9_000).toBeLessThan(1.02 * ((more - few) / 990));
  });

  it(`a commit among ${threadCount} threads is the work of one among a hundred`, async () => {
    await using store = open();
    let threads = 0;
    const write = async (): Promise<void> => {
      threads += 1;
      const id = threadId(`t${threads}`);
      const message: UserMessage = { id: messageId(`m${threads}`), role: "user", content: [{ type: "text", text: "Hi" }] };
      await store.commit({ threadId: id, runId: runId(`r${threads}`), messageDelta: { messages: [message], expectedMessageCount: 0 } });
    };
    while (threads < 100) await write();
    const few = await countWork(write);
    while (threads < threadCount) await write();
    const many = await countWork(write);
    expect(few).toBeGreaterThan(100);
    expect(many).toBeLessThan(1.02 * few);
  });
});
