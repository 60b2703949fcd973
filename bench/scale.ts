import { messageId, runId, threadId, type UserMessage } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { open } from "./field/peers/awaken.ts";
import { createScenario } from "./field/scenario.ts";

// What a call costs in a turn of many, and a commit among many threads: processor time of the thread. `e2e/scale` counts the same without a clock.

function cpuUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

/** Microseconds of one piece of `work`, which does `size` of them, once it is warm. */
async function time(size: number, least: number, work: () => Promise<unknown>): Promise<number> {
  const rounds = Math.ceil(least / size);
  for (let round = 0; round < rounds; round++) await work();
  const start = cpuUs();
  for (let round = 0; round < rounds; round++) await work();
  return (cpuUs() - start) / rounds / size;
}

for (const variant of ["awaken", "awaken-claims"]) {
  for (const calls of [10, 10, 1_000, 10_000]) {
    const play = open(variant).startRun(createScenario(1, calls, 20));
    const us = await time(calls, 10_000, play);
    console.log(`${variant === "awaken" ? "pure" : "claimed"} call in a turn of ${calls}: ${us.toFixed(1)} µs`);
  }
}

const store = memoryStore();
let threads = 0;
async function commit(): Promise<void> {
  threads += 1;
  const message: UserMessage = { id: messageId(`m${threads}`), role: "user", content: [{ type: "text", text: "Hi" }] };
  await store.commit({
    threadId: threadId(`t${threads}`),
    runId: runId(`r${threads}`),
    messageDelta: { messages: [message], expectedMessageCount: 0 },
  });
}
for (const among of [5_000, 100_000]) {
  while (threads < among) await commit();
  console.log(`commit among ${among} threads: ${(await time(1, 2_000, commit)).toFixed(1)} µs`);
}
await store.close();
