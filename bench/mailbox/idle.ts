import { DatabaseSync, StatementSync } from "node:sqlite";
import { fakeClock } from "@awaken/runtime/testing";
import pg from "pg";
import { openRuntime, openStore, type Place } from "./agent.ts";

// A node with workers that has nothing to do, for ten minutes of a clock that is moved: what it keeps, and what it asks the store for.

export interface IdleFigures {
  readonly heapBytes: number;
  readonly statements: number;
}

const MINUTES = 10;
const STEP_MS = 10_000;
const place: Place = JSON.parse(process.argv[2] ?? "");

let statements = 0;
function count(target: object, name: string): void {
  const method: unknown = Reflect.get(target, name);
  if (typeof method !== "function") throw new Error(`nothing is called ${name}`);
  const counted = function (this: unknown, ...given: unknown[]): unknown {
    statements += 1;
    return Reflect.apply(method, this, given);
  };
  Reflect.set(target, name, counted);
}
if (place.type === "postgres") count(pg.Client.prototype, "query");
else {
  for (const name of ["get", "all", "run"]) count(StatementSync.prototype, name);
  count(DatabaseSync.prototype, "exec");
}

/** What a server in another process answers meanwhile. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

const clock = fakeClock(Date.now());
const store = openStore(place);
const runtime = openRuntime(store, true, clock);
await runtime.recover();
for (let ms = 0; ms < 60_000; ms += STEP_MS) await clock.advance(STEP_MS).then(settle);
const before = statements;
for (let ms = 0; ms < MINUTES * 60_000; ms += STEP_MS) await clock.advance(STEP_MS).then(settle);
const asked = statements - before;
for (let nth = 0; nth < 3; nth++) globalThis.gc?.();
const figures: IdleFigures = { heapBytes: process.memoryUsage().heapUsed, statements: asked };
await runtime.close();
await store.close();
process.send?.(figures, () => process.exit(0));
