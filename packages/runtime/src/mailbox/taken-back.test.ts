import { messageText } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { STORES } from "./stores.test-support.ts";

const pay = defineTool({ id: "pay", description: "Pays", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });

describe.each(STORES)("a started run whose messages were taken back, on %s", (_, make) => {
  test.each([
    ["", {}],
    [", also with a key", { dedupeKey: "once" }],
  ])("is cancelled, and what waits before it goes on%s", async (_title, key) => {
    await using store = make();
    const go = Promise.withResolvers<void>();
    const turns: readonly ScriptStep[] = [
      () => ({ items: [{ type: "until", promise: go.promise }, ...toolCall("pay", {}).items] }),
      ({ messages }) => text(messages.map(messageText).join(" ").trim()),
    ];
    await using runtime = createRuntime({
      providers: { scripted: scripted(turns) },
      models: { m: { provider: "scripted", model: "m" } },
      agents: { lead: { model: "m" } },
      ...{ tools: [pay], store },
    });
    const first = await runtime.start({ thread: "t", input: "pay" });
    await expect.poll(async () => (await store.runs.load(first.runId))?.status).toBe("running");
    const second = await runtime.start({ thread: "t", input: "never mind", ...key });
    for (const { pendingId, revision } of (await runtime.pending.list("t")).entries)
      await runtime.pending.retract("t", pendingId, revision);
    go.resolve();
    const [ticket] = ticketsOf(await runtime.wait(first.runId));
    expect(await runtime.wait(second.runId)).toMatchObject({ status: "cancelled" });
    const decided = await runtime.decide(ticket?.id ?? "", { action: "approve" });
    expect(await decided.result).toMatchObject({ status: "done", runId: first.runId, text: "pay  paid" });
  });
});
