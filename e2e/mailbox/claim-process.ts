import { threadId } from "@awaken/contract";
import { thisNode } from "awaken";
import { openStore, type Place } from "../durability/support/place.ts";

// A process that has claimed what is queued on these threads, says so, and does nothing until it is killed.

const { place, threads }: { readonly place: Place; readonly threads: readonly string[] } = JSON.parse(process.argv[2] ?? "{}");
const store = await openStore(place);
for (const thread of threads) await store.dispatches.claim(threadId(thread), { consumer: thisNode().name, leaseMs: 600_000 });
process.send?.({ type: "claimed" });
setInterval(() => {}, 1_000);
