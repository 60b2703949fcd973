import { appendFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createRuntime } from "@awaken/runtime";
import { thisNode } from "awaken";
import { openStore, type Place } from "../durability/support/place.ts";
import { random } from "../inference/support/random.ts";
import { runtimeInit } from "./support/agent.ts";
import { Client } from "./support/client.ts";
import { Journal } from "./support/journal.ts";
import { World } from "./support/world.ts";

// One process of many: it takes up what waits in the queue, and is at the same time somebody who starts, talks, decides and cancels.

export interface WorkerOrder {
  readonly place: Place;
  /** Of the outside files and the journals. */
  readonly folder: string;
  readonly name: string;
  readonly slot: number;
  /** How many processes had this place before. */
  readonly life: number;
  readonly seed: number;
  readonly startedAt: number;
  readonly leaseMs: number;
  readonly maxAttempts: number;
}

/** `drain`: nothing new is begun. `close`: as a process that is told to end. */
export type WorkerCommand = "drain" | "close";

/** `ready`: it can be told something. `quiet`: it has begun its last new thing. */
export type WorkerNews = "ready" | "quiet";

const argument = process.argv[2];
if (argument === undefined) throw new Error("what to do is missing");
const order: WorkerOrder = JSON.parse(argument);
const { place, folder, name, slot, life, seed, startedAt, leaseMs, maxAttempts } = order;

const log = (level: string) => (message: string, details?: object) =>
  appendFileSync(`${folder}/log-${name}.txt`, `${new Date().toISOString()} ${level} ${message} ${JSON.stringify(details ?? {})}\n`);

const store = await openStore(place);
const runtime = createRuntime({
  ...runtimeInit(new World(folder)),
  store,
  node: thisNode(),
  log: { warn: log("warn"), error: log("error") },
  concurrency: 4,
  leaseMs,
  maxAttempts,
});
flushCompileCache();

const news = (what: WorkerNews) => void process.send?.(what);
const client = new Client({
  ...{ runtime, store, journal: new Journal(folder, name), numbers: random(seed, slot, life), slot, startedAt },
  onQuiet: () => news("quiet"),
});
const working = client.work();

process.on("disconnect", () => process.exit(1));
process.on("message", async (command: WorkerCommand) => {
  client.drain();
  if (command === "drain") return;
  client.isStopped = true;
  await working;
  await runtime.close();
  await store.close();
  process.exit(0);
});
news("ready");
