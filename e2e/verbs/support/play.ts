import { threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import type { World } from "./crew.ts";
import { decideSome } from "./decide.ts";
import { act } from "./deeds.ts";
import { Fleet } from "./fleet.ts";
import { Journal } from "./journal.ts";
import { judge } from "./judge.ts";
import type { People } from "./people.ts";
import { planText } from "./plans.ts";
import { Lane, Scheduler } from "./scheduler.ts";

export interface PlayInit {
  readonly seed: number;
  /** How many things are asked for. */
  readonly deeds: number;
  readonly open: (now: () => number, ids: () => string) => readonly [QueueStore, ...QueueStore[]];
  /** Each step, and what processes log. */
  readonly say?: (line: string) => void;
}

export interface Played {
  /** One sentence for each thing that must not be. */
  readonly faults: readonly string[];
  /** The same for the same history. */
  readonly print: string;
  readonly steps: number;
  readonly runs: number;
  readonly executions: number;
  /** By verb and answer. */
  readonly deeds: Readonly<Record<string, number>>;
}

const CLIENTS = 4;
/** Longer than leases, backoff and every look together. */
const REST_MS = 120_000;
const LOOK_MS = 2_000;

/** People who do what comes to their mind. */
async function playDeeds(people: People, total: number): Promise<void> {
  const { scheduler } = people;
  let done = 0;
  const client = async (lane: Lane) => {
    while (done++ < total) {
      await act(people);
      await (scheduler.numbers.below(10) < 3 ? lane.hold("thinks") : lane.sleep(scheduler.numbers.below(25)));
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, at) => client(new Lane(scheduler, `client ${at}`))));
}

/** What waits is decided, until nothing is left to do. Gives what is still there when nothing moves any more. */
async function drain(people: People, lane: Lane): Promise<readonly string[]> {
  const { scheduler, store, journal, fleet } = people;
  let seen = "";
  let isSwept = false;
  let movedAt = scheduler.clock.now();
  for (;;) {
    const { runs, dispatches, pending, messages, events } = await store.stats();
    const isOver = runs.created + runs.running + runs.waiting + dispatches.queued + dispatches.claimed === 0;
    if (isOver && journal.unanswered().length === 0) return [];
    const now = JSON.stringify([runs, dispatches, pending, messages, events, journal.unanswered().length]);
    if (now !== seen) movedAt = scheduler.clock.now();
    seen = now;
    if (scheduler.clock.now() - movedAt > REST_MS) {
      if (isSwept) return await leftOver(people);
      isSwept = true;
      // What each worker finds every quarter of an hour: code that ended with its process, or with a commit, tells nobody.
      await Promise.all(fleet.nodes.map(({ runtime }) => runtime.recover()));
      movedAt = scheduler.clock.now();
    }
    await decideSome(people);
    await lane.sleep(scheduler.clock.now() - movedAt > LOOK_MS ? LOOK_MS : 20);
  }
}

async function leftOver({ store, journal }: People): Promise<readonly string[]> {
  const { items } = await store.runs.list({ statuses: ["created", "running", "waiting"], limit: 200 });
  const rows = (await store.dispatches.listAll({ statuses: ["queued", "claimed"], limit: 200 })).items;
  const waiting = await Promise.all(rows.map(async (row) => (await store.pending.load(row.threadId)).entries));
  return [
    ...items.map((run) => `run ${run.runId} on ${run.threadId} is ${run.status}: ${JSON.stringify("waiting" in run ? run.waiting : {})}`),
    ...rows.map((row, nth) => `on ${row.threadId}: ${JSON.stringify(row)}, messages ${JSON.stringify(waiting[nth])}`),
    ...journal.unanswered().map((entry) => `nobody answers ${JSON.stringify(entry)}`),
  ];
}

/** One more message on each thread, which reads what nobody has read. */
async function playLast({ fleet, journal, store }: People): Promise<void> {
  const roots = [...new Set(journal.entries.map(({ thread }) => thread))].filter((thread) => /^(line|desk|wild)-/.test(thread));
  for (const thread of roots) {
    const node = fleet.any();
    const message = `last-${thread}`;
    await journal.ask({ op: "last", thread, message }, node, async () => {
      const input = [{ role: "user", id: message, content: planText({ order: message, steps: [] }) }] as const;
      const { runId } = await node.runtime.start({ agent: "lead", thread, input });
      const result = await fleet.any().runtime.wait(runId, { timeoutMs: REST_MS });
      if (result.status !== "done" && result.status !== "waiting") {
        const { entries } = await store.pending.load(threadId(thread));
        journal.faults.push(`the last run on ${thread} is ${result.status}: ${JSON.stringify(result)}, ${entries.length} pending`);
      }
      return { runId };
    });
  }
}

async function playAll(people: People, world: World, mend: () => void, total: number): Promise<void> {
  const { scheduler, fleet, journal, store } = people;
  const lane = new Lane(scheduler, "judge");
  await playDeeds(people, total);
  mend();
  journal.faults.push(...(await drain(people, lane)).map((left) => `left after the play: ${left}`));
  await playLast(people);
  journal.faults.push(...(await drain(people, lane)).map((left) => `left at the end: ${left}`));
  journal.faults.push(...(await judge(store, world, journal.entries, fleet, lane)));
  await Promise.all(fleet.nodes.map((node) => journal.ask({ op: "close", thread: "" }, node, () => node.runtime.close())));
}

/** Plays one history, the same for the same seed, and judges it. */
export async function play({ seed, deeds, open, say = () => {} }: PlayInit): Promise<Played> {
  const scheduler = new Scheduler(seed, say);
  let count = 0;
  const stores = open(
    () => scheduler.clock.now(),
    () => `s-${++count}`,
  );
  const [store] = stores;
  const world: World = { executions: [], trouble: seed % 3 === 0 ? 0 : 0.06 };
  const trouble = { store: seed % 2 === 0 ? 0.01 : 0 };
  scheduler.leaps = seed % 4 === 0 ? 0.001 : 0;
  const fleet = new Fleet({ scheduler, stores, world, trouble, say });
  const journal = new Journal(scheduler);
  const mend = () => {
    world.trouble = 0;
    trouble.store = 0;
    scheduler.leaps = 0;
    fleet.mend();
  };
  const onRejection = (thrown: unknown) => {
    journal.faults.push(`nobody catches ${thrown instanceof Error ? thrown.stack : thrown}`);
  };
  process.on("unhandledRejection", onRejection);
  try {
    await scheduler.until(playAll({ scheduler, fleet, journal, store }, world, mend, deeds));
  } catch (thrown) {
    onRejection(thrown);
  } finally {
    process.off("unhandledRejection", onRejection);
  }
  const tally: Record<string, number> = {};
  for (const { op, outcome } of journal.entries) tally[`${op} ${outcome}`] = (tally[`${op} ${outcome}`] ?? 0) + 1;
  for (const entry of journal.entries) say(JSON.stringify(entry));
  return {
    ...{ faults: journal.faults, print: scheduler.print, steps: scheduler.count, runs: await store.runs.count({}) },
    ...{ executions: world.executions.length, deeds: tally },
  };
}
