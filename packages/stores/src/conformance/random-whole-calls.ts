import type { QueueStore, ScopedThread } from "@awaken/contract/store";
import type { Chance, Names } from "./random-names.ts";

type WholeCall = (store: QueueStore, names: Names) => Promise<unknown>;

/** In one order where the port leaves it open: by what every engine calls them. */
const sorted = <T>(items: readonly T[], names: Names): readonly T[] =>
  items
    .map((item) => ({ item, name: JSON.stringify(names.told(item)) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ item }) => item);

/** Those that became available together, one group after the other. */
async function dueGroups(store: QueueStore, names: Names): Promise<readonly unknown[]> {
  const groups: { readonly since: number; threads: readonly ScopedThread[] }[] = [];
  for (const thread of await store.queue.listDue()) {
    const queued = await store.scoped(thread.scopeId).dispatches.list(thread.threadId, { statuses: ["queued"] });
    const since = Math.min(...queued.map(({ availableAt }) => availableAt));
    const last = groups.at(-1);
    if (last?.since === since) last.threads = sorted([...last.threads, thread], names);
    else groups.push({ since, threads: [thread] });
  }
  return groups;
}

/** What is asked of the whole store. */
export function wholeCall(chance: Chance): WholeCall {
  const kept = chance.of([0, 10, 1_000, 40_000]);
  const calls: readonly [WholeCall, ...WholeCall[]] = [
    dueGroups,
    ({ queue }) => queue.nextDueInMs(),
    async ({ queue }, names) => sorted(await queue.reclaimExpired(), names),
    async ({ queue }, names) => sorted(await queue.reclaimExpired(10, ["node-2"]), names),
    ({ queue }) => queue.listConsumers(),
    ({ queue }) => queue.listStranded({}),
    ({ queue }) => queue.listAwaitingTasks({}),
    async ({ queue }, names) => sorted(await queue.listUnended(), names),
    async ({ queue }, names) => sorted(await queue.listOver({}), names),
    (store) => store.stats(),
    (store) => store.sweep({ eventsMs: kept }),
    (store) => store.sweep({ eventsMs: kept, dispatchesMs: kept, wishesMs: kept, outboundMs: kept }),
  ];
  return chance.of(calls);
}
