import { crashPoints } from "@awaken/runtime/testing";
import { openHouse } from "./support/house.ts";
import { openStore, type Place } from "./support/place.ts";

// Leaves a tree of runs that waits for people, in one of the ways that there are; dies behind one of its commits.

export type Way = "begin another" | "interrupt" | "go on with something else" | "cancel" | "rewind";

export interface LeaverOrder {
  readonly place: Place;
  readonly thread: string;
  /** The root of the tree, and the message that it was asked with. */
  readonly root: string;
  readonly asked: string;
  readonly way: Way;
  readonly nth: number;
}

const argument = process.argv[2];
if (argument === undefined) throw new Error("what to do is missing");
const { place, thread, root, asked, way, nth }: LeaverOrder = JSON.parse(argument);
process.on("disconnect", () => process.exit(1));

const points = crashPoints({ at: "commit-end", nth, mode: { kill: () => process.kill(process.pid, "SIGKILL") } });
const store = await openStore(place);
const runtime = openHouse(points.commits(store, "commit", "transaction"), { add: () => {}, has: () => false }, { workers: false });
if (way === "cancel") await runtime.cancelAndWait(root);
else if (way === "rewind") await runtime.rewind(thread, { toMessageId: asked });
else if (way === "go on with something else") await runtime.run({ thread, resume: root, input: "something else" });
else await runtime.run({ agent: "lead", thread, input: "something else", ...(way === "interrupt" ? { onBusy: "interrupt" } : {}) });
await runtime.close();
await store.close();
process.exit(0);
