import { runId, threadId } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { text, toolCall } from "../testing/script.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { open } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

// A run that waits is ended from its record, and nobody executes it for that.

const T = threadId("t");
const input = z.object({});

describe.each(STORES)("a ticket of a run that is ended from its record, on %s", (_, make) => {
  test("server-and-durability 38: is closed with it, and whoever decides it is told that it is not open", async () => {
    await using store = make();
    const end = Promise.withResolvers<string>();
    const code = defineTool({
      ...{ id: "code", description: "Starts work", input, idempotent: true },
      execute: (_given, { tasks }) => tasks.spawn({ description: "Searches" }, () => end.promise),
    });
    const pay = defineTool({ id: "pay", description: "Pays", input, approve: () => ask("Pay?"), execute: () => "paid" });
    await using runtime = open(store, [toolCall("code", {}), toolCall("pay", {}), text("done")], { tools: [code, pay], workers: false });
    const waiting = await runtime.run({ thread: "t", input: "find and pay" });
    const [ticket] = ticketsOf(waiting);
    // What it is woken for is queued, and the run with it.
    end.resolve("it");
    await expect.poll(async () => (await store.stats()).dispatches.queued).toBe(1);
    expect(await runtime.interrupt("t")).toEqual({ superseded: 1, cancelled: false });
    const { id = "", toolCallId } = ticket ?? {};
    expect(await store.runs.load(runId(waiting.runId))).toMatchObject({ status: "done", closed: [{ ticketId: id, toolCallId }] });
    await expect(runtime.decide(id, { action: "approve" })).rejects.toMatchObject({ code: "ticket_not_open" });
    expect((await store.threads.load(T))?.openRunId).toBeUndefined();
  });
});
