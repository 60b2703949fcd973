import { setTimeout as sleep } from "node:timers/promises";
import { open } from "./field/peers/awaken.ts";
import { createScenario } from "./field/scenario.ts";

// 10,000 short runs in one process, with tools and a store that is dropped every 1,000 runs: after the warm-up the heap must be flat.

const RUNS = 10_000;
const STEP = 1_000;

async function heapMiB(): Promise<number> {
  for (let index = 0; index < 4; index++) {
    globalThis.gc?.();
    await sleep(10);
  }
  return process.memoryUsage().heapUsed / 2 ** 20;
}

const subject = open();
const play = subject.startRun(createScenario(2, 2, 10));
const marks: number[] = [];
for (let run = 1; run <= RUNS; run++) {
  await play();
  subject.prune?.();
  if (run % STEP === 0) {
    marks.push(await heapMiB());
    console.log(`${String(run).padStart(6)} runs  ${marks.at(-1)?.toFixed(2)} MiB`);
  }
}
const warm = marks.slice(2);
const growth = (warm.at(-1) ?? 0) - (warm[0] ?? 0);
console.log(
  `after warm-up: ${growth.toFixed(2)} MiB over ${RUNS - 3 * STEP} runs (${((growth * 2 ** 20) / (RUNS - 3 * STEP)).toFixed(1)} bytes per run)`,
);
