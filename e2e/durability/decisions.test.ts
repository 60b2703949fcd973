import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { threadId } from "@awaken/contract";
import { createRuntime } from "@awaken/runtime";
import { ticketsOf } from "@awaken/runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DeciderOrder } from "./decider-process.ts";
import { AGENT, CONSENT_STEP, inputId, inputText, ordersOf, runOf, runtimeInit } from "./support/agent.ts";
import { runChild } from "./support/child.ts";
import { type Folder, freshSchema, type Server, startServer, tempFolder } from "./support/databases.ts";
import { eventsOf } from "./support/history.ts";
import { Outside } from "./support/outside.ts";
import { openStore, type Place } from "./support/place.ts";
import { expectWhole } from "./support/whole-run.ts";

const THREADS = Array.from({ length: 20 }, (_, index) => `t${index}`);
/** Their runs wait for more than one decision. */
const SEVERAL = THREADS.filter((thread) => ordersOf(thread, CONSENT_STEP).length > 1).slice(0, 4);
const nothing = () => {};

/** Runs that wait for somebody's consent, left by a process that is gone. */
async function leaveWaiting(place: Place, effects: string, threads = THREADS): Promise<void> {
  writeFileSync(effects, "");
  await using store = await openStore(place);
  await using runtime = createRuntime({ ...runtimeInit(new Outside(effects), { before: nothing, after: nothing }), store });
  for (const thread of threads) {
    const input = [{ role: "user", id: inputId(thread), content: inputText(thread) }] as const;
    const { status } = await runtime.run({ agent: AGENT, thread, runId: runOf(thread), input });
    expect(status).toBe("waiting");
  }
}

/** All nodes begin when all are there. */
async function decide(place: Place, folder: Folder, orders: readonly DeciderOrder["tickets"][], threads = THREADS): Promise<void> {
  const effects = join(folder.path, "effects.jsonl");
  await leaveWaiting(place, effects, threads);
  const start = Promise.withResolvers<object>();
  let ready = 0;
  const onMessage = () => {
    if (++ready === orders.length) start.resolve({});
    return start.promise;
  };
  const file = join(import.meta.dirname, "decider-process.ts");
  const ended = await Promise.allSettled(
    orders.map((tickets) => {
      const order: DeciderOrder = { place, threads, outside: effects, tickets };
      return runChild({ file, order, onMessage });
    }),
  );
  for (const node of ended) if (node.status === "rejected") throw node.reason;
  await using store = await openStore(place);
  for (const thread of threads) await expectWhole(store, new Outside(effects), thread);
}

const gate = () => Promise.withResolvers<void>();

/** Two nodes take the same decision. One has read that the run waits, and looks again only when the other one is at work on it. */
async function decideLate(place: Place, folder: Folder): Promise<void> {
  const effects = join(folder.path, "effects.jsonl");
  await leaveWaiting(place, effects);
  const [thread = ""] = THREADS;
  await using store = await openStore(place);
  const [looks, isTaken, isDecided] = [gate(), gate(), gate()];
  const open = (own: typeof store) =>
    createRuntime({ ...runtimeInit(new Outside(effects), { before: nothing, after: nothing }), store: own });
  await using first = open({
    ...store,
    commit: async (commit) => {
      await isDecided.promise;
      return store.commit(commit);
    },
  });
  const loadHead = async (id: ReturnType<typeof threadId>) => {
    looks.resolve();
    await isTaken.promise;
    return store.threads.loadHead(id);
  };
  await using second = open({ ...store, threads: { ...store.threads, loadHead } });
  const tickets = ticketsOf(await first.wait(runOf(thread)));
  const decisions = tickets.map(({ id }) => ({ ticket: id, decision: { action: "approve", id: `decision-${id}` } as const }));
  const late = second.decideAll(decisions);
  await looks.promise;
  await first.decideAll(decisions);
  isTaken.resolve();
  await late;
  isDecided.resolve();
  await Promise.all([first.wait(runOf(thread)), second.wait(runOf(thread))]);
  await expectWhole(store, new Outside(effects), thread);
}

describe("decisions of other processes", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  for (const engine of ["sqlite", "postgres"] as const) {
    const open = async (work: (place: Place, folder: Folder) => Promise<void>) => {
      using folder = tempFolder();
      if (engine === "sqlite") return await work({ type: "sqlite", file: join(folder.path, "a.db") }, folder);
      await using schema = freshSchema(server.url);
      await work({ type: "postgres", url: server.url, schema: schema.name }, folder);
    };

    test(`server-and-durability 42: a decision after a full restart resumes the run, on ${engine}`, () =>
      open((place, folder) => decide(place, folder, ["all"])));

    test(`server-and-durability 43: the same decision in two processes at once executes the tool once, on ${engine}`, () =>
      open((place, folder) => decide(place, folder, ["all", "all"])));

    test(`server-and-durability 77: two processes decide the tickets of runs at the same moment, each its own: all succeed, each call once, on ${engine}`, () =>
      open((place, folder) => decide(place, folder, [0, 1], SEVERAL)));

    test(`server-and-durability 43: a node that looked too early does not take the run from the one that is at work, on ${engine}`, () =>
      open(decideLate));

    test(`server-and-durability 19: when the end is heard, the record says done and the terminal fact is in the events, on ${engine}`, () =>
      open(async (place, folder) => {
        const effects = join(folder.path, "effects.jsonl");
        writeFileSync(effects, "");
        await using store = await openStore(place);
        await using runtime = createRuntime({ ...runtimeInit(new Outside(effects), { before: nothing, after: nothing }), store });
        const first = await runtime.run({ agent: AGENT, thread: "t", input: inputText("t") });
        const decisions = ticketsOf(first).map(({ id }) => ({ ticket: id, decision: { action: "approve" } as const }));
        const heard: string[] = [];
        for await (const { type } of runtime.stream({ thread: "t", resume: first.runId, decisions })) {
          heard.push(type);
          if (type !== "run-end") continue;
          expect(await store.runs.load(first.runId)).toMatchObject({ status: "done" });
          expect((await eventsOf(store, threadId("t"))).map(({ kind }) => kind)).toContain("run-finished");
        }
        expect(heard).toContain("run-end");
      }));
  }
});
