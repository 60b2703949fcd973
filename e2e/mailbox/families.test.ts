import { messageText, runId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { crashPoints, type ScriptStep, scripted, text, toolCall } from "@awaken/runtime/testing";
import { ask, createRuntime, defineTool, type RunResult, type Runtime } from "awaken";
import { expect } from "vitest";
import * as z from "zod";
import { onEveryStore } from "./support/stores.ts";

/** A model that may be asked in several processes: what it says depends on the conversation alone. */
const always = (say: (role: string, said: string) => ReturnType<typeof text>): readonly ScriptStep[] =>
  new Array<ScriptStep>(100).fill((request) => {
    const last = request.messages.at(-1);
    return say(last?.role ?? "user", last === undefined ? "" : messageText(last));
  });

const delegating = (to: string, name: string) =>
  always((role, said) => (role === "tool" ? text(`${name}: ${said}`) : toolCall(`agent_run_${to}`, { prompt: "go" }, { id: "c1" })));

/** A lead asks a researcher, who asks a clerk, who pays when somebody approves. Each runtime stands for a process that finds all others gone. */
function house(store: QueueStore, paid: string[], init: { readonly workers?: boolean } = {}) {
  const pay = defineTool({
    id: "pay",
    description: "Pays",
    input: z.object({}),
    approve: () => ask("Pay?"),
    reconcile: (_, { idempotencyKey }) => (paid.includes(idempotencyKey) ? { type: "done", data: "paid" } : { type: "not-done" }),
    execute: (_, { idempotencyKey }) => {
      paid.push(idempotencyKey);
      return "paid";
    },
  });
  const turns = {
    lead: delegating("researcher", "lead"),
    researcher: delegating("clerk", "researcher"),
    clerk: always((role, said) => (role === "tool" ? text(`clerk ${said}`) : toolCall("pay", {}, { id: "c1" }))),
  };
  const name = crypto.randomUUID();
  return createRuntime({
    providers: { lead: scripted(turns.lead), researcher: scripted(turns.researcher), clerk: scripted(turns.clerk) },
    models: Object.fromEntries(Object.keys(turns).map((id) => [id, { provider: id, model: "m" }])),
    agents: {
      lead: { model: "lead", delegates: ["researcher"], tools: [] },
      researcher: { model: "researcher", delegates: ["clerk"], tools: [] },
      clerk: { model: "clerk", tools: ["pay"] },
    },
    tools: [pay],
    log: { warn() {}, error() {} },
    node: { name, isGone: (other) => other !== name },
    store,
    ...init,
  });
}

const ANSWER = "lead: researcher: clerk paid";

const ticketsOf = (result: RunResult) => (result.status === "waiting" ? result.tickets : []);

async function bringToEnd(runtime: Runtime, id: string): Promise<RunResult> {
  for (;;) {
    const result = await runtime.wait(id);
    if (result.status !== "waiting") return result;
    for (const ticket of ticketsOf(result)) {
      const decided = await runtime.decide(ticket.id, { action: "approve", id: `approve ${ticket.id}` });
      await decided.result;
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

onEveryStore("three levels of delegation with an approval at the bottom", (it) => {
  it("multi-agent 62: decided from another process, on the root", async ({ store, peer }) => {
    const paid: string[] = [];
    const first = house(store, paid, { workers: false });
    const waiting = await first.run({ agent: "lead", thread: "t", input: "go" });
    const [ticket] = ticketsOf(waiting);
    expect(ticket).toMatchObject({ toolName: "pay", rootRunId: waiting.runId, agentPath: ["lead", "researcher", "clerk"] });
    await first.close();
    const second = house(peer, paid, { workers: false });
    const decided = await second.decide(ticket?.id ?? "", { action: "approve", run: waiting.runId });
    expect(await decided.result).toMatchObject({ status: "done", text: ANSWER, runId: waiting.runId });
    expect(paid).toHaveLength(1);
    await second.close();
  });

  it("multi-agent 62: the process dies at every fourth commit, and another one brings the tree to its end", async ({ store, peer }) => {
    for (let nth = 2; ; nth += 4) {
      const paid: string[] = [];
      const points = crashPoints({ at: nth % 8 === 2 ? "commit-end" : "commit-start", nth, mode: "throw" });
      const dying = house(points.commits(store, "commit", "transaction"), paid, { workers: false });
      const run = dying.stream({ agent: "lead", thread: `t${nth}`, input: "go" });
      const first = await run.result.catch(() => undefined);
      for (const ticket of first === undefined ? [] : ticketsOf(first)) {
        const decided = await dying.decide(ticket.id, { action: "approve", id: `approve ${ticket.id}` }).catch(() => undefined);
        await decided?.result.catch(() => undefined);
      }
      if (!points.hasCrashed) {
        expect(nth).toBeGreaterThan(15);
        return;
      }
      const next = house(peer, paid);
      await next.recover();
      expect(await bringToEnd(next, run.id), `commit ${nth}`).toMatchObject({ status: "done", text: ANSWER });
      expect(paid, `commit ${nth}`).toHaveLength(1);
      expect(await peer.runs.count({ rootRunId: runId(run.id), statuses: ["created", "running", "waiting"] })).toBe(0);
      await next.close();
    }
  });

  it("multi-agent 62: whoever waits for the root is told its end, also when a worker takes it up before whoever decided does", async ({
    store,
  }) => {
    const paid: string[] = [];
    await using runtime = house(store, paid);
    for (let round = 0; round < 5; round++) {
      const { runId: root } = await runtime.start({ agent: "lead", thread: `t${round}`, input: "go" });
      const [ticket] = ticketsOf(await runtime.wait(root));
      await runtime.decide(ticket?.id ?? "", { action: "approve" });
      expect(await runtime.wait(root)).toMatchObject({ status: "done", text: ANSWER });
    }
    expect(paid).toHaveLength(5);
  });
});
