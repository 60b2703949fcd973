import type { DispatchQueue } from "@awaken/contract/store";
import { entry } from "../ports.ts";

export type Queue = Omit<DispatchQueue, "hints">;

/** Workers alone ask for the queues of all tenants: `ask` loads what answers with the first of them. */
export const lateQueue = (ask: <T>(work: (queue: Queue) => Promise<T>) => Promise<T>, hints: DispatchQueue["hints"]): DispatchQueue => ({
  listDue: (limit) => ask((queue) => queue.listDue(limit)),
  nextDueInMs: () => ask((queue) => queue.nextDueInMs()),
  reclaimExpired: entry((limit, gone) => ask((queue) => queue.reclaimExpired(limit, gone))),
  listConsumers: () => ask((queue) => queue.listConsumers()),
  listOver: (query) => ask((queue) => queue.listOver(query)),
  listStranded: (query) => ask((queue) => queue.listStranded(query)),
  listAwaitingTasks: (query) => ask((queue) => queue.listAwaitingTasks(query)),
  listUnended: (limit) => ask((queue) => queue.listUnended(limit)),
  hints,
});
