import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { createRuntime, defineTool, type RuntimeInit, thisNode } from "awaken";
import { scripted, text, toolCalls } from "awaken/testing";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { taskText } from "../chaos/support/agent.ts";
import { World } from "../chaos/support/world.ts";
import { freshSchema, type Server, startServer, tempFolder } from "../durability/support/databases.ts";
import { openStore, type Place } from "../durability/support/place.ts";
import { startProgram } from "../durability/support/program.ts";
import { pay } from "./support/open.ts";

const quick = defineTool({ id: "slow", description: "Lasts", input: z.object({}), idempotent: true, execute: () => "ran again" });

const open = (store: QueueStore, init: Partial<RuntimeInit> = {}) =>
  createRuntime({
    providers: { scripted: scripted([text("ended by another")]) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    tools: [quick],
    log: { warn() {}, error() {} },
    store,
    ...init,
  });

const heard = async (owner: ChildProcess, type: string): Promise<object> => {
  for (;;) {
    const [message]: unknown[] = await once(owner, "message");
    if (typeof message === "object" && message !== null && "type" in message && message.type === type) return message;
  }
};

const forked = (program: string, order: object): ChildProcess => startProgram(join(import.meta.dirname, program), order);

/** The owner, when its tool has begun, or its run waits. */
async function owning(place: Place, leaseMs = 30_000, what: "lasts" | "parks" = "lasts"): Promise<ChildProcess> {
  const owner = forked("owner-process.ts", { place, leaseMs, what });
  await heard(owner, "began");
  return owner;
}

describe("runs of other processes", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("the last transaction of a process that was killed is waited for, on postgres", async () => {
    await using schema = freshSchema(server.url);
    const place: Place = { type: "postgres", url: server.url, schema: schema.name };
    await using store = await openStore(place);
    const owner = await owning(place);
    owner.kill("SIGKILL");
    await once(owner, "exit");
    // What the database still does for the one who is gone.
    const last = new Client({ connectionString: server.url });
    await using ending = new AsyncDisposableStack();
    ending.defer(() => last.end());
    await last.connect();
    await last.query("BEGIN");
    expect((await last.query(`SELECT 1 FROM "${schema.name}".dispatch FOR UPDATE`)).rowCount).toBe(1);
    await using other = open(store, { workers: false });
    const result = other.run({ thread: "t", input: "me" });
    await Promise.race([result, new Promise((resolve) => setTimeout(resolve, 300))]);
    await last.query("COMMIT");
    expect(await result).toMatchObject({ status: "done", text: "ended by another" });
  });

  for (const engine of ["sqlite", "postgres"] as const) {
    const inPlace = async (work: (place: Place, store: QueueStore) => Promise<void>) => {
      using folder = tempFolder();
      await using schema = freshSchema(server.url);
      const place: Place =
        engine === "sqlite"
          ? { type: "sqlite", file: join(folder.path, "awaken.db") }
          : { type: "postgres", url: server.url, schema: schema.name };
      await using store = await openStore(place);
      await work(place, store);
    };

    test(
      `server-and-durability 78: a run whose process was killed is taken up by a worker without anybody asking; a live one is not, on ${engine}`,
      () =>
        inPlace(async (place, store) => {
          const owner = await owning(place);
          await using worker = open(store);
          await worker.recover();
          await expect(worker.run({ thread: "t", input: "me" })).rejects.toMatchObject({ code: "thread_already_running" });
          expect(await store.runs.load(runId("r"))).toMatchObject({ status: "running" });
          owner.kill("SIGKILL");
          await once(owner, "exit");
          await worker.recover();
          expect(await worker.wait("r")).toMatchObject({ status: "done", text: "ended by another" });
        }),
      60_000,
    );

    test(
      `registry-and-runtime 44: a decision that came before its call waited outlives the process that it was made in, on ${engine}`,
      () =>
        inPlace(async (place, store) => {
          const owner = forked("early-process.ts", { place });
          await heard(owner, "began");
          owner.kill("SIGKILL");
          await once(owner, "exit");
          expect(await store.wishes.listOpen(runId("r"))).toMatchObject([{ wishId: "d1" }, { wishId: "d2" }]);
          const calls = toolCalls([
            { name: "pay", input: {}, id: "c1" },
            { name: "pay", input: {}, id: "c2" },
          ]);
          const turns = [calls, text("decided before")];
          await using worker = open(store, { providers: { scripted: scripted(turns) }, tools: [pay] });
          await worker.recover();
          expect(await worker.wait("r")).toMatchObject({ status: "done", text: "decided before" });
          const decided = [{ decisionId: "d1" }, { decisionId: "d2" }];
          expect(await store.runs.load(runId("r"))).toMatchObject({ status: "done", decided });
          expect(await store.wishes.listOpen(runId("r"))).toEqual([]);
        }),
      60_000,
    );

    test(
      `a process that only stopped for longer than its lease loses its run, and can write nothing when it comes back, on ${engine}`,
      () =>
        inPlace(async (place, store) => {
          const owner = await owning(place, 1_000);
          owner.kill("SIGSTOP");
          await using worker = open(store, { leaseMs: 1_000 });
          expect(await worker.wait("r")).toMatchObject({ status: "done", text: "ended by another" });
          const before = await store.runs.load(runId("r"));
          owner.kill("SIGCONT");
          expect(await heard(owner, "ended")).toMatchObject({ status: "failed" });
          expect(await store.runs.load(runId("r"))).toEqual(before);
          owner.kill("SIGKILL");
        }),
      60_000,
    );

    test(
      `server-and-durability 79: a run past its deadline is put back after its tool, costs no attempt, and ends in the next process, on ${engine}`,
      () =>
        inPlace(async (place, store) => {
          const first = forked("yielding-process.ts", { place });
          await heard(first, "began");
          await using second = open(store, { node: thisNode() });
          await second.recover();
          // Its tool is waited for, whatever the time is.
          expect(await store.runs.load(runId("r"))).toMatchObject({ status: "running" });
          first.send("end");
          const ended = heard(first, "ended");
          expect(await second.wait("r")).toMatchObject({ status: "done", text: "ended by another", steps: 2 });
          expect(await ended).toMatchObject({ status: "done", text: "ended by another", steps: 2 });
          expect(await store.dispatches.list(threadId("t"), {})).toMatchObject([{ status: "acked", attemptCount: 0 }]);
          expect(await store.ledger.list(runId("r"))).toMatchObject([{ status: "finished", attempt: 1, result: { data: "ran once" } }]);
          first.kill("SIGKILL");
        }),
      60_000,
    );

    test(
      `server-and-durability 48: startup recovery by two nodes at once executes each dispatch once, on ${engine}`,
      () =>
        inPlace(async (place, store) => {
          using folder = tempFolder();
          const threads = Array.from({ length: 12 }, (_, n) => `t${n}`);
          await using talker = open(store, { workers: false });
          const ids: string[] = [];
          for (const thread of threads) ids.push((await talker.start({ thread, input: taskText(`${thread}/x`, ["r", "ri"]) })).runId);
          // Half of them were with a process that is gone, the others wait.
          const gone = forked("claim-process.ts", { place, threads: threads.slice(0, 6) });
          await heard(gone, "claimed");
          gone.kill("SIGKILL");
          await once(gone, "exit");
          const nodes = [0, 1].map(() => forked("recover-process.ts", { place, folder: folder.path }));
          for (const id of ids) expect(await talker.wait(id)).toMatchObject({ status: "done" });
          for (const node of nodes) node.kill("SIGKILL");
          const world = new World(folder.path);
          for (const [n, thread] of threads.entries()) {
            expect(world.executions(thread).map(({ isNew }) => isNew)).toEqual([true, true, true]);
            expect(await store.dispatches.list(threadId(thread), {})).toMatchObject([{ status: "acked", attemptCount: n < 6 ? 1 : 0 }]);
          }
        }),
      60_000,
    );

    test(
      `server-and-durability 76: cancel reaches a run that another process executes, on ${engine}`,
      () =>
        inPlace(async (place, store) => {
          const owner = await owning(place);
          await using other = open(store, { workers: false });
          const ended = heard(owner, "ended");
          expect(await other.cancel("t")).toBe(true);
          expect(await ended).toMatchObject({ status: "cancelled" });
          expect(await other.wait("r")).toMatchObject({ status: "cancelled" });
          owner.kill("SIGKILL");
        }),
      60_000,
    );

    test(
      `server-and-durability 33: a submit that interrupts ends the run of another process, keeps what it said, and runs, on ${engine}`,
      () =>
        inPlace(async (place, store) => {
          const owner = await owning(place);
          await using other = open(store, { workers: false });
          const ended = heard(owner, "ended");
          const result = await other.run({ thread: "t", input: "me", onBusy: "interrupt" });
          expect(result).toMatchObject({ status: "done", text: "ended by another" });
          expect(await ended).toMatchObject({ status: "cancelled" });
          expect(await store.runs.load(runId("r"))).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
          const { items } = await store.messages.list(threadId("t"), {});
          expect(items.map(({ message }) => message.role).slice(0, 2)).toEqual(["user", "assistant"]);
          owner.kill("SIGKILL");
        }),
      60_000,
    );

    test(
      `server-and-durability 34: an owner that stands still does not let go, and the submit is refused; one that is gone is not waited for, on ${engine}`,
      () =>
        inPlace(async (place, store) => {
          const owner = await owning(place);
          owner.kill("SIGSTOP");
          await using other = open(store, { workers: false, node: thisNode() });
          await expect(other.run({ thread: "t", runId: "mine", input: "me", onBusy: "interrupt" })).rejects.toMatchObject({
            code: "thread_already_running",
          });
          expect(await store.runs.load(runId("mine"))).toBeUndefined();
          expect(await store.messages.count(threadId("t"))).toBe(2);
          owner.kill("SIGKILL");
          await once(owner, "exit");
          expect(await other.run({ thread: "t", runId: "mine", input: "me", onBusy: "interrupt" })).toMatchObject({ status: "done" });
          expect(await store.runs.load(runId("r"))).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
          expect(await store.wishes.listOpen(runId("r"))).toEqual([]);
        }),
      60_000,
    );

    test(
      `server-and-durability 44: a decision resumes a run at once that parked in another process, which is still there, on ${engine}`,
      () =>
        inPlace(async (place, store) => {
          const owner = await owning(place, 30_000, "parks");
          const [waiting] = (await store.runs.list({ statuses: ["waiting"] })).items;
          const ticket = waiting?.status === "waiting" ? (waiting.waiting.tickets[0]?.id ?? "") : "";
          await using other = open(store, { workers: false, tools: [quick, pay] });
          expect(await (await other.decide(ticket, { action: "approve" })).result).toMatchObject({ status: "done", runId: "r" });
          owner.kill("SIGKILL");
        }),
      60_000,
    );
  }
});
