import { messageToolCalls, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import { crashPoints } from "../testing/crash-points.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { type ScriptedProvider, scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { wait } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";
import { input, lastPrompt, open, World } from "./crash.test-support.ts";

/** What the model is shown of the calls so far. */
const callsSeen = ({ requests }: ScriptedProvider) =>
  requests.at(-1)?.messages.flatMap((message) => messageToolCalls(message).map(({ name, input }) => `${name} ${JSON.stringify(input)}`));

const asking = (world: World) => [world.tool("pay", { approve: ({ n }) => ask(`Pay ${n}?`) }), world.tool("look")];
const pay = (n: number) => toolCall("pay", { n }, { id: "call_0" });
const only = <T>(items: readonly T[]): T => {
  const [first, ...rest] = items;
  if (first === undefined || rest.length > 0) throw new Error(`one was expected, not ${items.length}`);
  return first;
};
const logOf = async (store: Store) => (await store.messages.list(threadId("t"), { visibility: "all", limit: 200 })).items;

describe("a call that was approved with another input", () => {
  it.each([
    ["without a store", undefined],
    ["with a store", memoryStore()],
  ])("core-execution 99: is shown to the model with the input that ran, %s", async (_, store) => {
    const world = new World();
    const both = toolCalls([
      { name: "look", input: { n: 3 }, id: "call_1" },
      { name: "pay", input: { n: 1 }, id: "call_0" },
    ]);
    const model = scripted([both, text("paid"), text("yes")]);
    const runtime = open(model, { tools: asking(world), ...(store === undefined ? {} : { store }) });
    const first = await runtime.run({ thread: "t", input: "go" });
    await runtime.decide(only(ticketsOf(first)).id, { action: "approve", input: { n: 100 }, by: "ana" });
    await runtime.wait(first.runId);
    expect(world.done).toEqual(["look 3", "pay 100"]);
    expect(callsSeen(model)).toEqual(['look {"n":3}', 'pay {"n":100}']);
    expect(lastPrompt(model)?.at(-1)).toBe('tool: {"did":100}');
    await runtime.run({ thread: "t", input: "and?" });
    expect(callsSeen(model)).toEqual(['look {"n":3}', 'pay {"n":100}']);
  });

  it("core-execution 99: the log holds what was asked for and what ran, and who edited it; another process sees what ran", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = asking(world);
    const first = await open(scripted([pay(1)]), { store, tools }).run({ thread: "t", input: "go" });
    const there = open(scripted([text("paid")]), { store, tools });
    await there.decide(only(ticketsOf(first)).id, { action: "approve", input: { n: 100 }, by: "ana" });
    await there.wait(first.runId);
    const log = await logOf(store);
    expect(log.flatMap(({ message }) => messageToolCalls(message).map((call) => call.input))).toEqual([{ n: 1 }]);
    expect(log.flatMap(({ message }) => (message.role === "tool" ? [message.metadata?.edited] : []))).toEqual([
      undefined,
      { input: { n: 100 }, by: "ana" },
    ]);
    const model = scripted([text("yes")]);
    await open(model, { store, tools }).run({ thread: "t", input: "and?" });
    expect(callsSeen(model)).toEqual(['pay {"n":100}']);
    expect(await store.ledger.list(first.runId)).toMatchObject([{ input: { n: 100 } }]);
  });

  it("is the one that was edited when the vendor gives the ids of calls again", async () => {
    const [store, world] = [memoryStore(), new World()];
    const model = scripted([pay(1), pay(2), text("paid")]);
    const runtime = open(model, { store, tools: asking(world) });
    const first = await runtime.run({ thread: "t", input: "go" });
    await runtime.decide(only(ticketsOf(first)).id, { action: "approve", input: { n: 10 } });
    const second = await runtime.wait(first.runId);
    expect(callsSeen(model)).toEqual(['pay {"n":10}']);
    await runtime.decide(only(ticketsOf(second)).id, { action: "approve", input: { n: 20 } });
    await runtime.wait(first.runId);
    expect(callsSeen(model)).toEqual(['pay {"n":10}', 'pay {"n":20}']);
    const again = scripted([text("yes")]);
    await open(again, { store, tools: asking(world) }).run({ thread: "t", input: "and?" });
    expect(callsSeen(again)).toEqual(['pay {"n":10}', 'pay {"n":20}']);
  });

  it("keeps its edit when the tool waits once more, and takes the next one", async () => {
    for (const [second, shown] of [
      [{ action: "approve" }, 10],
      [{ action: "approve", input: { n: 11 } }, 11],
    ] as const) {
      const store = memoryStore();
      let begun = 0;
      const twice = defineTool({
        id: "pay",
        description: "",
        input,
        approve: () => ask("?"),
        execute: ({ n }) => (begun++ === 0 ? wait({ action: "confirm" }) : { did: n }),
      });
      const model = scripted([pay(1), text("paid")]);
      const runtime = open(model, { store, tools: [twice] });
      const first = await runtime.run({ thread: "t", input: "go" });
      await runtime.decide(only(ticketsOf(first)).id, { action: "approve", input: { n: 10 }, by: "ana" });
      const waiting = await runtime.wait(first.runId);
      expect(only(ticketsOf(waiting))).toMatchObject({ action: "confirm", input: { n: 10 } });
      await runtime.decide(only(ticketsOf(waiting)).id, second);
      await runtime.wait(first.runId);
      expect(callsSeen(model)).toEqual([`pay {"n":${shown}}`]);
      expect(lastPrompt(model)?.at(-1)).toBe(`tool: {"did":${shown}}`);
    }
  });

  it("keeps its edit when the process dies while it runs", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = asking(world);
    const first = await open(scripted([pay(1)]), { store, tools }).run({ thread: "t", input: "go" });
    const points = crashPoints({ at: "tool-end", nth: 1, mode: "throw" });
    const dying = open(scripted([]), { store: points.commits(store, "commit", "transaction"), tools: points.tools(tools) });
    await dying.decide(only(ticketsOf(first)).id, { action: "approve", input: { n: 100 }, by: "ana" });
    await dying.wait(first.runId).catch(() => {});
    const model = scripted([text("paid")]);
    const runtime = open(model, { store, tools });
    const waiting = await runtime.resume(first.runId);
    await runtime.decide(only(ticketsOf(waiting)).id, { action: "answer", result: { did: 100 } });
    await runtime.wait(first.runId);
    expect(callsSeen(model)).toEqual(['pay {"n":100}']);
    expect(world.done).toEqual(["pay 100"]);
  });
});
