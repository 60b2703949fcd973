import { crashPoints } from "@awaken/runtime/testing";
import { bringToEnd, openHouse } from "./support/house.ts";
import { Outside } from "./support/outside.ts";
import { openStore, type Place } from "./support/place.ts";

// Brings a tree of three runs to its end, and decides about it; dies at one of its commits.

export interface TreeOrder {
  readonly place: Place;
  /** The file of what happened outside. */
  readonly outside: string;
  readonly thread: string;
  readonly at: "commit-start" | "commit-end";
  readonly nth: number;
}

const argument = process.argv[2];
if (argument === undefined) throw new Error("what to do is missing");
const { place, outside, thread, at, nth }: TreeOrder = JSON.parse(argument);
process.on("disconnect", () => process.exit(1));

const world = new Outside(outside);
const points = crashPoints({ at, nth, mode: { kill: () => process.kill(process.pid, "SIGKILL") } });
const store = await openStore(place);
const runtime = openHouse(
  points.commits(store, "commit", "transaction"),
  { add: (key) => void world.happen(thread, key), has: (key) => world.underKey(key) !== undefined },
  { workers: false },
);
const { runId } = await runtime.run({ agent: "lead", thread, runId: thread, input: "go" });
await bringToEnd(runtime, runId);
await runtime.close();
await store.close();
process.exit(0);
