import type { QueueStore, ScopedThread } from "@awaken/contract/store";
import type { Chance, Names } from "./random-names.ts";

type WholeCall = (store: QueueStore, names: Names) => Promise<unknown>;

interface Ranked<T> {
  readonly rank: number;
  readonly items: readonly T[];
}

/** As they came, but for those of one rank, which the port leaves in any order: by what every engine calls them. */
function byRank<T>(items: readonly T[], names: Names, rankOf: (item: T) => number = () => 0): readonly Ranked<T>[] {
  const groups: { readonly rank: number; readonly items: T[] }[] = [];
  for (const item of items) {
    const rank = rankOf(item);
    const last = groups.at(-1);
    if (last?.rank === rank) last.items.push(item);
    else groups.push({ rank, items: [item] });
  }
  const nameOf = (item: T): string => JSON.stringify(names.told(item));
  return groups.map((group) => ({ ...group, items: group.items.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)) }));
}

async function listDue(store: QueueStore, names: Names): Promise<readonly Ranked<ScopedThread>[]> {
  const due = await store.queue.listDue();
  const since = new Map<ScopedThread, number>();
  for (const thread of due) {
    const queued = await store.scoped(thread.scopeId).dispatches.list(thread.threadId, { statuses: ["queued"] });
    since.set(thread, Math.min(...queued.map(({ availableAt }) => availableAt)));
  }
  return byRank(due, names, (thread) => since.get(thread) ?? 0);
}

/** What is asked of the whole store. */
export function wholeCall(chance: Chance): WholeCall {
  const kept = chance.of([0, 10, 1_000, 40_000]);
  const calls: readonly [WholeCall, ...WholeCall[]] = [
    listDue,
    ({ queue }) => queue.nextDueInMs(),
    async ({ queue }, names) => byRank(await queue.reclaimExpired(), names),
    async ({ queue }, names) => byRank(await queue.reclaimExpired(10, ["node-2"]), names),
    async ({ queue }, names) => byRank(await queue.listConsumers(), names, ({ leaseEndsInMs }) => leaseEndsInMs),
    ({ queue }) => queue.listStranded({}),
    ({ queue }) => queue.listAwaitingTasks({}),
    async ({ queue }, names) => byRank(await queue.listUnended(), names),
    async ({ queue }, names) => byRank(await queue.listOver({}), names, ({ dispatch }) => dispatch.updatedAt),
    (store) => store.stats(),
    (store) => store.sweep({ eventsMs: kept }),
    (store) => store.sweep({ eventsMs: kept, dispatchesMs: kept, wishesMs: kept, outboundMs: kept }),
  ];
  return chance.of(calls);
}
