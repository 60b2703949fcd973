import { threadId } from "@awaken/contract";
import type { ScopedStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { text, toolCall } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { open } from "./crash.test-support.ts";
import type { RuntimeStore, TenantStore } from "./runtime-store.ts";

/** What somebody has to write who brings a store for the runtime alone: no queue, no config records, no events. */
const onlyCalled = ({ threads, runs, messages, ledger, profiles, commit, transaction }: ScopedStore): TenantStore => ({
  threads: { load: threads.load, loadHead: threads.loadHead },
  runs: { load: runs.load, list: runs.list, listByTicket: runs.listByTicket, listOpenTickets: runs.listOpenTickets },
  messages: { load: messages.load, list: messages.list },
  ledger: { load: ledger.load, list: ledger.list },
  profiles,
  commit,
  transaction: (work) => transaction((ports) => work({ runs: { load: ports.runs.load }, commit: ports.commit })),
});

const pay = defineTool({
  id: "pay",
  description: "",
  input: z.object({ n: z.number() }),
  approve: () => ask("Pay?"),
  execute: ({ n }) => `paid ${n}`,
});

describe("a store with only what the runtime calls", () => {
  const inner = memoryStore();
  const store: RuntimeStore = { ...onlyCalled(inner), scoped: (id) => onlyCalled(inner.scoped(id)) };

  test("runs, waits, is decided and goes on, for each of its tenants", async () => {
    const turns = ["a", "default"].flatMap(() => [toolCall("pay", { n: 1 }), text("done")]);
    const runtime = open(scripted(turns), { store, tools: [pay] });
    for (const tenant of [runtime.scoped("a"), runtime]) {
      const [ticket] = ticketsOf(await tenant.run({ thread: "t", input: "pay" }));
      const decided = await tenant.decide(ticket?.id ?? "", { action: "approve" });
      expect(await decided.result).toMatchObject({ status: "done", text: "done" });
    }
    expect((await inner.messages.list(threadId("t"), {})).items).not.toEqual([]);
  });

  test("is refused when streams are to be kept, which it cannot", () => {
    expect(() => open(scripted([]), { store, streamCheckpoints: true })).toThrow(
      expect.objectContaining({ code: "config_validation_failed", message: expect.stringContaining("the store keeps none") }),
    );
  });
});
