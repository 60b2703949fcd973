import { AwakenError, openTicketsOf, runId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { text, toolCalls } from "../testing/script.ts";
import type { ScriptStep } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { open as openScripted } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

// Decisions that are made together, of which one cannot be taken: the same becomes of them in whatever process they are made.

const R = runId("r");
const APPROVE = { action: "approve", run: R } as const;

/** `pay` asks; `look` lasts until it is let go. */
function world() {
  const gate = Promise.withResolvers<void>();
  const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
  const look = defineTool({
    id: "look",
    description: "",
    input: z.object({}),
    execute: async () => {
      await gate.promise;
      return "seen";
    },
  });
  return { tools: [pay, look], letGo: gate.resolve };
}

const open = (store: QueueStore, tools: ReturnType<typeof world>["tools"], turns: readonly ScriptStep[] = []) =>
  openScripted(store, turns, { tools, workers: false });

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "taken",
    (thrown: unknown) => (AwakenError.is(thrown) ? thrown.code : thrown),
  );

describe.each(STORES)("decisions that are made together, on %s", (_, make) => {
  test("core-execution 80: one about an open ticket and one about a call at work: none is taken, here and elsewhere, in whatever order", async () => {
    await using store = make();
    const { tools, letGo } = world();
    const turns = [
      toolCalls([
        { name: "pay", input: {}, id: "asks" },
        { name: "look", input: {}, id: "works" },
      ]),
      text("over"),
    ];
    await using owner = open(store, tools, turns);
    await using other = open(store, tools);
    using _end = { [Symbol.dispose]: letGo };
    const run = owner.stream({ thread: "t", runId: R, input: "go" });
    const openTickets = async () => {
      const record = await store.runs.load(R);
      return record === undefined ? [] : openTicketsOf(record).map(({ id }) => id);
    };
    await expect.poll(openTickets).toHaveLength(1);
    const [ticket = expect.fail()] = await openTickets();
    for (const runtime of [owner, other]) {
      for (const [odd, code] of [
        ["works", "ticket_not_open"],
        ["nobody", "ticket_not_found"],
      ]) {
        const both = [ticket, odd ?? ""].map((target) => ({ ticket: target, decision: APPROVE }));
        expect(await codeOf(runtime.decideAll(both))).toBe(code);
        expect(await codeOf(runtime.decideAll(both.toReversed()))).toBe(code);
        expect(await codeOf(runtime.decideAll([{ ticket: "asks", decision: APPROVE }, ...both.slice(1)]))).toBe(code);
      }
    }
    expect(await store.wishes.listOpen(R)).toEqual([]);
    expect(await openTickets()).toEqual([ticket]);
    // What is open can still be decided, alone.
    await other.decide(ticket, APPROVE);
    letGo();
    expect(await run.result).toMatchObject({ status: "done", text: "over" });
  });
});
