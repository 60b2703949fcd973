import { type InferenceRequest, messageText, messageToolCalls, type ScopedStore } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { wait } from "../tool/reply.ts";
import { open } from "./crash.test-support.ts";

const nothing = z.object({});
const call = (name: string, id: string) => ({ name, input: {}, id });

/** In the first life all but `quick` last until it ends; in the next one only those that are named. */
function world() {
  const ran: string[] = [];
  let isLasting = (_id: string) => true;
  const lasting = (id: string, pure: boolean, reply: () => unknown = () => id, idempotent = false) =>
    defineTool({
      id,
      description: "",
      input: nothing,
      pure,
      idempotent,
      execute: async (_input, { resume }) => {
        if (isLasting(id)) await new Promise(() => {});
        ran.push(id);
        return resume === undefined ? reply() : "asked";
      },
    });
  const tools = [
    lasting("look", true),
    lasting("send", false),
    lasting("again", false, () => "again", true),
    lasting("asks", true, () => wait({ action: "confirm" })),
    defineTool({ id: "quick", description: "", input: nothing, execute: () => "quick" }),
  ];
  const die = (...lasting: readonly string[]) => {
    isLasting = (id) => lasting.includes(id);
    ran.length = 0;
  };
  return { ran, tools, die };
}

/** Each call with its result, as a vendor wants them: a result without its call would be refused. */
function turnsOf(request: InferenceRequest | undefined): readonly string[] {
  return (request?.messages ?? []).flatMap((message) => {
    if (message.role === "tool") return [`${message.toolCallId}: ${messageText(message)}`];
    return message.role === "assistant"
      ? [
          messageToolCalls(message)
            .map(({ id }) => id)
            .join(" "),
        ]
      : [];
  });
}

const STORES: readonly (readonly [string, () => ScopedStore | Promise<ScopedStore>])[] = [
  ["memory", memoryStore],
  ["sqlite", () => sqliteStore(":memory:")],
];

describe.each(STORES)("a process that dies in a round that lasts, %s", (_, make) => {
  /** The calls of one turn, until they last; then the process is gone. */
  async function cut(calls: Parameters<typeof toolCalls>[0], toolExecution: "parallel" | "sequential", lasting: readonly string[] = []) {
    const [store, clock, { ran, tools, die }] = [await make(), fakeClock(1), world()];
    const agents = { default: { model: "fast", toolExecution } };
    const run = open(scripted([toolCalls(calls)]), { store, tools, clock, agents }).stream({ thread: "t", input: "go" });
    for (let round = 0; round < 20; round++) await clock.advance(50);
    die(...lasting);
    const model = scripted([text("over")]);
    return { store, clock, ran, run: run.id, model, there: open(model, { store, tools, clock, agents }) };
  }

  test.each(["parallel", "sequential"] as const)(
    "core-execution 98: calls that were not over beside one whose outcome is on record are brought to their end, %s",
    async (mode) => {
      const { store, ran, run, there, model } = await cut([call("quick", "a"), call("look", "b"), call("look", "c")], mode);
      expect((await store.ledger.list(run)).map(({ toolName, status }) => `${toolName} ${status}`)).toEqual(["quick finished"]);
      expect(await there.resume(run)).toMatchObject({ status: "done", text: "over" });
      expect(ran).toEqual(["look", "look"]);
      expect(turnsOf(model.requests[0])).toEqual(["a b c", "a: quick", "b: look", "c: look"]);
    },
  );

  test.each(["parallel", "sequential"] as const)("and a new message instead leaves what is on record, %s", async (mode) => {
    const { ran, there, model } = await cut([call("quick", "a"), call("look", "b"), call("look", "c")], mode);
    expect(await there.run({ thread: "t", input: "leave it" })).toMatchObject({ status: "done", text: "over" });
    expect(ran).toEqual([]);
    expect(turnsOf(model.requests[0])).toEqual(["a", "a: quick"]);
  });

  test("core-execution 98: what is found out about a call in the second life is on record when that one ends too", async () => {
    const { store, clock, ran, run, there } = await cut([call("again", "a"), call("look", "b")], "parallel", ["look"]);
    void there.resume(run);
    for (let round = 0; round < 20; round++) await clock.advance(50);
    expect(ran).toEqual(["again"]);
    expect((await store.ledger.list(run)).map(({ toolName, status }) => `${toolName} ${status}`)).toEqual(["again finished"]);
  });

  test("core-execution 76: tickets come in call order also when the outcome of a later call is what is asked about first", async () => {
    const { run, there } = await cut([call("asks", "a"), call("send", "b")], "parallel");
    const tickets = ticketsOf(await there.resume(run));
    expect(tickets.map(({ toolCallId, action }) => `${toolCallId} ${action}`)).toEqual(["a confirm", "b unknown-outcome"]);
  });
});
