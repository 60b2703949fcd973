import { type InferenceRequest, messageText, runId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { ask, createRuntime, defineTool, type Runtime, type RuntimeInit } from "@awaken/runtime";
import { crashPoints, type ScriptStep, scripted, soleNode, text, ticketsOf, toolCall } from "@awaken/runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { freshSchema, type Server, startServer } from "./support/databases.ts";
import { openStore } from "./support/place.ts";

/** What a model says follows from what it reads last: it may be asked in any process. */
const always = (say: (last: { readonly role: string; readonly said: string }) => ReturnType<typeof text>) =>
  scripted(
    new Array<ScriptStep>(200).fill(({ messages }: InferenceRequest) => {
      const last = messages.at(-1);
      return say({ role: last?.role ?? "user", said: last === undefined ? "" : messageText(last) });
    }),
  );

const passOn = (to: string, name: string) =>
  always(({ role, said }) =>
    role === "tool" ? text(`${name} heard: ${said}`) : toolCall(`agent_run_${to}`, { prompt: "go" }, { id: "c1" }),
  );

/** A lead, who asks a researcher, who asks a clerk, who pays when somebody approves. `paid` is the world outside. */
function openHouse(store: QueueStore, paid: string[], init: Partial<RuntimeInit> = {}): Runtime {
  const pay = defineTool({
    id: "pay",
    description: "",
    input: z.object({}),
    approve: () => ask("Pay?"),
    reconcile: (_, { idempotencyKey }) => (paid.includes(idempotencyKey) ? { type: "done", data: "paid" } : { type: "not-done" }),
    execute: (_, { idempotencyKey }) => {
      paid.push(idempotencyKey);
      return "paid";
    },
  });
  const clerk = always(({ role, said }) => (role === "tool" ? text(`clerk ${said}`) : toolCall("pay", {}, { id: "c1" })));
  return createRuntime({
    providers: { lead: passOn("researcher", "lead"), researcher: passOn("clerk", "researcher"), clerk },
    models: Object.fromEntries(["lead", "researcher", "clerk"].map((id) => [id, { provider: id, model: "m" }])),
    agents: {
      lead: { model: "lead", delegates: ["researcher"], tools: [] },
      researcher: { model: "researcher", description: "Asks", delegates: ["clerk"], tools: [] },
      clerk: { model: "clerk", description: "Pays", tools: ["pay"] },
    },
    tools: [pay],
    store,
    // Whoever comes after a process that died knows that it did.
    node: soleNode(crypto.randomUUID()),
    log: { warn() {}, error() {} },
    ...init,
  });
}

/** Decides whatever the root shows, until it is over. */
async function bringToEnd(runtime: Runtime, id: string) {
  for (;;) {
    const result = await runtime.wait(id);
    if (result.status !== "waiting") return result;
    for (const { id: ticket } of ticketsOf(result)) {
      const decided = await runtime.decide(ticket, { action: "approve", id: `approve ${ticket}` });
      await decided.result;
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

describe("three levels with an approval at the bottom, on PostgreSQL", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("multi-agent 62: the process dies behind each commit; another one brings the tree to its end, and the effect happens once", async () => {
    await using store = await openStore({ type: "postgres", url: server.url, schema: freshSchema(server.url).name });
    for (let nth = 1; ; nth++) {
      const paid: string[] = [];
      const points = crashPoints({ at: "commit-end", nth, mode: "throw" });
      const dying = openHouse(points.commits(store, "commit", "transaction"), paid, { workers: false });
      const run = dying.stream({ agent: "lead", thread: `t${nth}`, input: "go" });
      const first = await run.result.catch(() => undefined);
      if (first?.status === "waiting" && !points.hasCrashed) await bringToEnd(dying, run.id).catch(() => undefined);
      if (!points.hasCrashed) {
        expect(nth).toBeGreaterThan(15);
        return;
      }
      const isThere = (await store.runs.load(runId(run.id))) !== undefined;
      await using next = openHouse(store, paid);
      await next.recover();
      const ended = isThere ? await bringToEnd(next, run.id) : undefined;
      if (isThere) expect(ended, `commit ${nth}`).toMatchObject({ status: "done", text: "lead heard: researcher heard: clerk paid" });
      expect(paid.length, `commit ${nth}`).toBe(isThere ? 1 : 0);
    }
  }, 300_000);
});
