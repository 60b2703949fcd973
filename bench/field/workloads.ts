import { setTimeout as sleep, setImmediate as tick } from "node:timers/promises";
import { createScenario, type Played, playChecked, type Subject, USER } from "./scenario.ts";
import { median } from "./statistics.ts";

/** How long to look; `QUICK` gives numbers that are only good for seeing that everything runs. */
export interface Settings {
  readonly warmMs: number;
  /** Of a process that has been at work for a while: all that is going to be compiled is. */
  readonly longWarmMs: number;
  readonly measureMs: number;
  readonly concurrent: number;
  readonly marks: readonly number[];
  readonly turns: number;
}

export const FULL: Settings = { warmMs: 1_500, longWarmMs: 10_000, measureMs: 2_000, concurrent: 1_000, marks: [50, 800], turns: 15 };
export const QUICK: Settings = { warmMs: 200, longWarmMs: 300, measureMs: 300, concurrent: 100, marks: [20, 60], turns: 5 };

export type Figures = Readonly<Record<string, number>>;

const SEQUENTIAL: Readonly<Record<string, readonly [steps: number, calls: number, chunks: number]>> = {
  W1: [0, 1, 20],
  W2: [10, 1, 20],
  W3: [1, 8, 20],
  W4: [0, 1, 5_000],
};

const SLICE_US = 50_000;

/** Processor time of this thread, in microseconds: what else the machine does is not counted. */
function cpuUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

/** Runs one after the other; microseconds of a run, as the median over slices. */
async function time(subject: Subject, play: () => Promise<Played>, ms: number): Promise<number> {
  const slices: number[] = [];
  const end = performance.now() + ms;
  let start = cpuUs();
  let runs = 0;
  let lastTick = performance.now();
  for (;;) {
    await play();
    subject.prune?.();
    runs += 1;
    if (performance.now() - lastTick > 1) {
      // Timers and I/O get their turn, as between requests.
      await tick();
      lastTick = performance.now();
    }
    const spent = cpuUs() - start;
    if (spent >= SLICE_US) {
      slices.push(spent / runs);
      start = cpuUs();
      runs = 0;
    }
    if (performance.now() >= end && slices.length > 0) return median(slices);
  }
}

async function sequential(subject: Subject, shape: readonly [number, number, number], warmMs: number, measureMs: number): Promise<Figures> {
  const scenario = createScenario(...shape);
  const play = subject.startRun(scenario);
  await playChecked(scenario, 1, play);
  // Before anything is warm: a forced collection between two runs throws compiled code away, as in `concurrent`.
  globalThis.gc?.();
  await time(subject, play, warmMs);
  const us = await time(subject, play, measureMs);
  await playChecked(scenario, 1, play);
  return { us };
}

async function settle(subject?: Subject): Promise<void> {
  subject?.prune?.();
  for (let index = 0; index < 3; index++) {
    globalThis.gc?.();
    await sleep(20);
  }
}

const heap = (): number => {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/**
 * Many runs at once with a model that takes 10 ms per call; then as many that are held in their second call. Forced collections throw the shapes of
 * objects away of which none is alive, and the code that was compiled for them: every variant is at work for as long as in W1 to W4 to get both back
 * before it is measured, and for 200 runs where it is measured young.
 */
async function concurrent(subject: Subject, { concurrent: count, warmMs }: Settings): Promise<Figures> {
  const scenario = createScenario(3, 1, 20);
  const play = subject.startRun(scenario);
  await playChecked(scenario, 1, play);
  scenario.gate = () => sleep(10);
  const some = Math.min(200, count);
  const wallOf = async (isWarm: boolean): Promise<number> => {
    const walls: number[] = [];
    for (let round = 0; round < 3; round++) {
      await settle(subject);
      const end = performance.now() + (isWarm ? warmMs : 0);
      do await playChecked(scenario, some, play);
      while (performance.now() < end);
      const start = performance.now();
      await playChecked(scenario, count, play);
      walls.push(performance.now() - start);
    }
    return median(walls);
  };
  await playChecked(scenario, some, play);
  const youngMs = await wallOf(false);
  const wallMs = await wallOf(true);
  await settle(subject);
  const before = heap();
  const door = Promise.withResolvers<void>();
  let arrived = 0;
  scenario.gate = (results) => {
    if (results === 1) arrived += 1;
    return results === 0 ? undefined : door.promise;
  };
  const held = playChecked(scenario, count, play);
  while (arrived < count) await Promise.race([sleep(5), held]);
  await settle();
  const parkedKiB = (heap() - before) / 1_024 / count;
  door.resolve();
  await held;
  return { wallMs, youngMs, parkedKiB };
}

/** One more turn, with a tool step, on a thread that is as long as each mark: milliseconds and bytes stored. */
async function growing(subject: Subject, { marks, turns: window }: Settings): Promise<Figures> {
  const scenario = createScenario(1, 1, 20);
  const thread = subject.startThread?.(scenario);
  if (thread === undefined) throw new Error("keeps no threads");
  let turns = 0;
  const turn = async (): Promise<number> => {
    const start = performance.now();
    let ms = 0;
    await playChecked(scenario, 1, () =>
      thread.turn(USER).then((played) => {
        ms = performance.now() - start;
        return played;
      }),
    );
    turns += 1;
    // What is written in the background is written before the next turn, and is not timed.
    await sleep(1);
    return ms;
  };
  const figures: Record<string, number> = {};
  for (const [index, mark] of marks.entries()) {
    if (turns === 0) await turn();
    const missing = mark - 10 - turns;
    if (thread.seed !== undefined && missing > 0) {
      await thread.seed(missing);
      turns += missing;
    }
    while (turns < mark) await turn();
    await settle();
    const before = await thread.bytes?.();
    const laps: number[] = [];
    while (laps.length < window) laps.push(await turn());
    const place = index === 0 ? "early" : "late";
    figures[`${place}Ms`] = median(laps);
    const after = await thread.bytes?.();
    if (before !== undefined && after !== undefined) figures[`${place}Bytes`] = (after - before) / window;
  }
  await thread.close?.();
  return { ...figures, promptItems: scenario.promptItems };
}

export async function measure(workload: string, subject: Subject, settings: Settings): Promise<Figures> {
  const [name = "", warmth] = workload.split(" ");
  const shape = SEQUENTIAL[name];
  const { warmMs, longWarmMs, measureMs } = settings;
  if (shape !== undefined) return sequential(subject, shape, warmth === undefined ? warmMs : longWarmMs, measureMs);
  if (workload === "W5") return concurrent(subject, settings);
  if (workload === "W6") return growing(subject, settings);
  throw new Error(`no such workload: ${workload}`);
}
