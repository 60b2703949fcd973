import { openStore, type Place } from "../durability/support/place.ts";
import { openNode } from "./support/speaker.ts";

// Does one thing on a thread that others follow, and ends.

export interface WorkerOrder {
  readonly place: Place;
  readonly work: { readonly type: "run"; readonly input: string } | { readonly type: "decide"; readonly ticket: string };
}

const argument = process.argv[2];
if (argument === undefined) throw new Error("what to do is missing");
const { place, work }: WorkerOrder = JSON.parse(argument);

const store = await openStore(place);
const runtime = openNode(store);
process.on("disconnect", () => process.exit(1));
if (work.type === "run") await runtime.run({ agent: "assistant", thread: "t", input: work.input });
else await (await runtime.decide(work.ticket, { action: "approve" })).result;
await runtime.close();
await store.close();
process.exit(0);
