import { runId } from "@awaken/contract";
import type { QueueStore, ThreadCommit } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type Runtime } from "../create-runtime.ts";
import { text, toolCall } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import type { RunResult } from "./run-result.ts";

// Whoever waits for a root reads its record, its tickets and those below it one after the other, while all of them go on.

/** A clerk who pays when somebody approves, and as often as his script says; then with the middle and the lead above him. */
function open(store: QueueStore | undefined, payments: number, paying: () => Promise<void>): Runtime {
  const pay = defineTool({
    id: "pay",
    description: "Pays",
    input: z.object({}),
    approve: () => ask("Pay?"),
    execute: async () => {
      await paying();
      return "paid";
    },
  });
  const asks = (agent: string) => scripted([toolCall(`agent_run_${agent}`, { prompt: "go" }), text("done")]);
  return createRuntime({
    providers: {
      lead: asks("middle"),
      middle: asks("clerk"),
      clerk: scripted([...Array.from({ length: payments }, () => toolCall("pay", {})), text("paid")]),
    },
    models: Object.fromEntries(["lead", "middle", "clerk"].map((id) => [id, { provider: id, model: "m" }])),
    agents: {
      lead: { model: "lead", delegates: ["middle"], tools: [] },
      middle: { model: "middle", delegates: ["clerk"], tools: [] },
      clerk: { model: "clerk", tools: ["pay"] },
    },
    tools: [pay],
    workers: false,
    ...(store === undefined ? undefined : { store }),
  });
}

/** The same store, whose reader is told of what he asked for a while after it was so. */
function slowly(store: QueueStore, read: "load" | "listOpenTickets", meanwhile: (answer: unknown) => Promise<void>): QueueStore {
  const runs = new Proxy(store.runs, {
    get(port, name) {
      const asked: unknown = Reflect.get(port, name);
      if (name !== read || typeof asked !== "function") return asked;
      return async (id: unknown) => {
        const answer: unknown = await Reflect.apply(asked, port, [id]);
        await meanwhile(answer);
        return answer;
      };
    },
  });
  return new Proxy(store, { get: (port, name) => (name === "runs" ? runs : Reflect.get(port, name)) });
}

/** A tree that waits for the payment, and goes on to it: nobody has a ticket, and the clerk is at work until he is let. */
async function atWork(payments: number) {
  const store = memoryStore();
  const gates = Array.from({ length: payments }, () => Promise.withResolvers<void>());
  const begun = Promise.withResolvers<void>();
  let paid = 0;
  const runtime = open(store, payments, async () => {
    begun.resolve();
    await gates[paid++]?.promise;
  });
  const waiting = await runtime.run({ agent: "lead", thread: "t", input: "go" });
  const [ticket] = waiting.status === "waiting" ? waiting.tickets : [];
  const decided = await runtime.decide(ticket?.id ?? "", { action: "approve" });
  await begun.promise;
  const pay = async () => {
    for (const gate of gates) gate.resolve();
    await decided.result;
  };
  return { store, runtime, root: waiting.runId, pay };
}

describe("whoever waits for the root of a family", () => {
  test("multi-agent 62: is told its end when a run between goes on behind the look at it", async () => {
    const { store, runtime, root, pay } = await atWork(1);
    let seen = 0;
    // The second record is that of the run between: what is read of its thread afterwards is of a run that went on.
    const slow = slowly(store, "load", async () => {
      if (++seen === 2) await pay();
    });
    await using reader = open(slow, 1, async () => {});
    expect(await reader.wait(root)).toMatchObject({ status: "done", text: "done" });
    expect(seen).toBeGreaterThan(2);
    await runtime.close();
  });

  test("multi-agent 62: is told its end when the root itself goes on behind the look at it", async () => {
    const { store, runtime, root, pay } = await atWork(1);
    let seen = 0;
    const slow = slowly(store, "load", async () => {
      if (++seen === 1) await pay();
    });
    await using reader = open(slow, 1, async () => {});
    expect(await reader.wait(root)).toMatchObject({ status: "done", text: "done" });
    await runtime.close();
  });

  test("multi-agent 62: is told of a ticket that is opened behind the look for tickets", async () => {
    const { store, runtime, root, pay } = await atWork(2);
    let looks = 0;
    const slow = slowly(store, "listOpenTickets", async () => {
      if (++looks === 1) await pay();
    });
    await using reader = open(slow, 2, async () => {});
    const result = await reader.wait(root);
    expect(result).toMatchObject({ status: "waiting", tickets: [{ toolName: "pay", agentPath: ["lead", "middle", "clerk"] }] });
    expect(looks).toBe(2);
    await runtime.close();
  });

  test("multi-agent 62: is told its end when a ticket is decided before the root, which is on record, has left", async () => {
    const store = memoryStore();
    const parked = Promise.withResolvers<void>();
    const leaving = Promise.withResolvers<void>();
    const paying = Promise.withResolvers<void>();
    const commit = async (asked: ThreadCommit) => {
      const landed = await store.commit(asked);
      if (asked.threadId === "t" && asked.run?.status === "waiting") {
        parked.resolve();
        await leaving.promise;
      }
      return landed;
    };
    const late = new Proxy(store, { get: (port, name) => (name === "commit" ? commit : Reflect.get(port, name)) });
    await using runtime = open(late, 1, () => paying.promise);
    const run = runtime.stream({ agent: "lead", thread: "t", input: "go" });
    await parked.promise;
    const [ticket] = await store.runs.listOpenTickets(runId(run.id));
    const decided = await runtime.decide(ticket?.id ?? "", { action: "approve" });
    const waited = runtime.wait(run.id);
    leaving.resolve();
    await run.result;
    paying.resolve();
    expect(await waited).toMatchObject({ status: "done", text: "done" });
    await decided.result;
  });

  test("multi-agent 62: is told, when he does not wait until then, what it waits for", async () => {
    const { runtime, root, pay } = await atWork(1);
    const late = { code: "timeout", message: `run '${root}' is waiting, and goes on with another run, which is not over` };
    await expect(runtime.wait(root, { timeoutMs: 1 })).rejects.toMatchObject(late);
    await pay();
    await runtime.close();
  });
});

test("whoever waits for a run that goes with its parent is told what it waits for: nobody has a record of it", async () => {
  await using runtime = open(undefined, 1, async () => {});
  const run = runtime.stream({ agent: "lead", thread: "t", input: "go" });
  const waited: Promise<RunResult>[] = [];
  for await (const event of run) if (event.type === "child-start") waited.push(runtime.wait(event.runId));
  expect(await Promise.all(waited)).toMatchObject([{ status: "waiting", tickets: [{ toolName: "agent_run_clerk" }] }]);
});
