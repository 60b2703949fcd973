import { setTimeout as sleep, setImmediate as tick } from "node:timers/promises";
import { playAwaken } from "./awaken.ts";
import { playBare } from "./bare.ts";
import { createScenario, type Play, type Scenario, verify } from "./scenario.ts";

// One variant, one workload, one process: prints one JSON line.

const SEQUENTIAL: Record<string, readonly [steps: number, calls: number, chunks: number]> = {
  W1: [0, 1, 20],
  W2: [10, 1, 20],
  W3: [1, 8, 20],
  W4: [0, 1, 5_000],
};

interface Variant {
  readonly play: Play;
  prune(): void;
}

const open = (name: string, scenario: Scenario): Variant =>
  name === "bare" ? { play: playBare(scenario), prune() {} } : playAwaken(scenario);

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** Processor time of this thread, in microseconds: what else the machine does is not counted. */
function cpuUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

async function timed({ play, prune }: Variant, ms: number): Promise<number> {
  const slices: number[] = [];
  const end = performance.now() + ms;
  let start = cpuUs();
  let runs = 0;
  let lastTick = performance.now();
  for (;;) {
    await play();
    prune();
    runs += 1;
    const now = performance.now();
    if (now - lastTick > 1) {
      await tick();
      lastTick = performance.now();
    }
    const spent = cpuUs() - start;
    if (spent >= 50_000) {
      slices.push(spent / runs);
      start = cpuUs();
      runs = 0;
    }
    if (now >= end && slices.length > 0) return median(slices);
  }
}

async function settle(): Promise<void> {
  for (let index = 0; index < 3; index++) {
    globalThis.gc?.();
    await sleep(20);
  }
}

/** 1,000 runs at once, with a model that takes 10 ms per call; then 1,000 that are held in their second call. */
async function concurrent(name: string): Promise<{ readonly wallMs: number; readonly parkedKiB: number }> {
  const scenario = createScenario(3, 1, 20);
  const variant = open(name, scenario);
  await verify(scenario, variant.play);
  scenario.gate = () => sleep(10);
  const all = (count: number) => Promise.all(Array.from({ length: count }, () => variant.play()));
  await all(200);
  const walls: number[] = [];
  for (let round = 0; round < 3; round++) {
    await settle();
    const start = performance.now();
    await all(1_000);
    walls.push(performance.now() - start);
  }
  await settle();
  const before = process.memoryUsage();
  const door = Promise.withResolvers<void>();
  let arrived = 0;
  scenario.gate = (results) => {
    if (results === 1) arrived += 1;
    return results === 0 ? undefined : door.promise;
  };
  const held = all(1_000);
  while (arrived < 1_000) await sleep(5);
  await settle();
  const after = process.memoryUsage();
  door.resolve();
  await held;
  return { wallMs: median(walls), parkedKiB: (after.heapUsed + after.external - before.heapUsed - before.external) / 1_024 / 1_000 };
}

const [name = "awaken", workload = "W1", budget = "1500"] = process.argv.slice(2);
const shape = SEQUENTIAL[workload];
if (shape === undefined) console.log(JSON.stringify(await concurrent(name)));
else {
  const scenario = createScenario(...shape);
  const variant = open(name, scenario);
  await verify(scenario, variant.play);
  await timed(variant, Number(budget));
  globalThis.gc?.();
  const us = await timed(variant, Number(budget));
  await verify(scenario, variant.play);
  console.log(JSON.stringify({ us }));
}
