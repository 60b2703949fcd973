import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { fakeClock } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { createRuntime, type Runtime } from "awaken";
import { describe, expect, test } from "vitest";
import { tempFolder } from "../durability/support/databases.ts";
import { openStore, type Place } from "../durability/support/place.ts";
import { startProgram } from "../durability/support/program.ts";
import { fileEffects, isCareful, memoryEffects, RESEARCHERS, swarmInit } from "./support/agents.ts";

/** More of them: `SWARM=100 npx vitest run e2e/swarm`. */
const SCHEDULES = Number(process.env["SWARM"] ?? 10);
const KILLED = Number(process.env["SWARM_KILLED"] ?? 3);

/** The same numbers for the same seed. */
function random(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

const CAREFUL = Array.from({ length: RESEARCHERS }, (_, topic) => topic).filter(isCareful).length;
const LEAD = { agent: "lead", thread: "lead", input: "Find out about everything" } as const;

/** Decides one of the tickets that are open anywhere below, if there is one; true when the lead is over. */
async function decideOne(runtime: Runtime, lead: string, pick: () => number): Promise<boolean> {
  const result = await runtime.wait(lead, { timeoutMs: 60_000 }).catch(() => undefined);
  if (result === undefined) return false;
  if (result.status !== "waiting") return true;
  const ticket = result.tickets[Math.floor(pick() * result.tickets.length)];
  if (ticket !== undefined) await runtime.decide(ticket.id, { action: "approve", id: `yes ${ticket.id}` }).catch(() => undefined);
  return false;
}

/** No message lost or doubled, no effect twice, and one summary of all. */
async function check(store: QueueStore, lead: string, effects: readonly string[]): Promise<void> {
  const run = await store.runs.load(runId(lead));
  expect(run).toMatchObject({ status: "done", outcome: { response: `${RESEARCHERS} of ${RESEARCHERS} are in` } });
  expect(await store.runs.count({ rootRunId: runId(lead), statuses: ["created", "running", "waiting"] })).toBe(0);
  expect(await store.runs.count({ rootRunId: runId(lead), statuses: ["done"] })).toBe(RESEARCHERS);
  const head = await store.threads.loadHead(threadId("lead"));
  const news = (head?.messages ?? []).flatMap(({ message }) => message.metadata?.task ?? []);
  expect(news.map(({ taskId }) => taskId).sort()).toEqual(Array.from({ length: RESEARCHERS }, (_, n) => `bg_${n}`).sort());
  expect(news.every(({ kind }) => kind === "completed")).toBe(true);
  expect(effects).toHaveLength(RESEARCHERS);
  expect(new Set(effects).size).toBe(RESEARCHERS);
  expect((await store.pending.load(threadId("lead"))).entries).toEqual([]);
}

describe("a lead and twenty researchers in the background", () => {
  test.each(Array.from({ length: SCHEDULES }, (_, seed) => seed))(
    "everything is in before the lead sums it up, by random schedule %d",
    async (seed) => {
      const pick = random(seed);
      const clock = fakeClock(1);
      const store = memoryStore({ clock: () => clock.now() });
      const effects = memoryEffects();
      const pause = () => new Promise<void>((resolve) => void clock.timer(1 + Math.floor(pick() * 1_000), resolve));
      await using runtime = createRuntime({ ...swarmInit(effects, pause), store, clock, concurrency: 1 + Math.floor(pick() * 24) });
      const first = runtime.run(LEAD);
      let isIn = false;
      void first.then(() => {
        isIn = true;
      });
      while (!isIn) await clock.advance(50);
      const lead = (await first).runId;
      let decided = 0;
      for (let turn = 0; turn < 5_000; turn++) {
        await clock.advance(Math.floor(pick() * 400));
        const result = await store.runs.load(lead);
        if (result?.status === "done") break;
        const tickets = await store.runs.listOpenTickets(lead);
        const ticket = pick() < 0.5 ? tickets[Math.floor(pick() * tickets.length)] : undefined;
        if (ticket === undefined) continue;
        decided += 1;
        await runtime.decide(ticket.id, { action: "approve" });
      }
      expect(decided).toBe(CAREFUL);
      await check(store, lead, effects.all());
    },
    60_000,
  );

  test.each(Array.from({ length: KILLED }, (_, seed) => seed))(
    "whichever worker process is killed when, by random schedule %d",
    async (seed) => {
      using folder = tempFolder();
      const pick = random(seed + 1_000);
      const place: Place = { type: "sqlite", file: join(folder.path, "awaken.db") };
      const journal = join(folder.path, "effects");
      await using store = await openStore(place);
      const workers: ChildProcess[] = [];
      const hire = async () => {
        const worker = startProgram(join(import.meta.dirname, "worker-process.ts"), { place, effects: journal });
        workers.push(worker);
        await once(worker, "message");
      };
      await using ending = new AsyncDisposableStack();
      ending.defer(() => {
        for (const worker of workers) worker.kill("SIGKILL");
      });
      await using runtime = createRuntime({ ...swarmInit(fileEffects(journal), async () => {}), store, workers: false });
      const { runId: lead } = await runtime.start(LEAD);
      await hire();
      let kills = 0;
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, 20 + pick() * 150));
        if (await decideOne(runtime, lead, pick)) break;
        // The first one that works is among them, whatever the dice say.
        if (kills === 0 || (kills < 4 && pick() < 0.3)) {
          kills += 1;
          workers.at(-1)?.kill("SIGKILL");
          await hire();
        }
      }
      expect(kills).toBeGreaterThan(0);
      await check(store, lead, fileEffects(journal).all());
    },
    120_000,
  );
});
