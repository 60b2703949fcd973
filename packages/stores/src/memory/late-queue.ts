import type { DispatchQueue } from "@awaken/contract/store";

type Queue = Omit<DispatchQueue, "hints">;

/** Workers alone ask for the queues of all tenants: what answers is loaded with the first of them. */
export function lateQueue(open: () => Promise<Queue>, hints: DispatchQueue["hints"]): DispatchQueue {
  let opening: Promise<Queue> | undefined;
  const queue = async (): Promise<Queue> => {
    opening ??= open();
    try {
      return await opening;
    } catch (thrown) {
      opening = undefined;
      throw thrown;
    }
  };
  return {
    listDue: async (limit) => (await queue()).listDue(limit),
    nextDueInMs: async () => (await queue()).nextDueInMs(),
    reclaimExpired: async (limit, gone) => (await queue()).reclaimExpired(limit, gone),
    listConsumers: async () => (await queue()).listConsumers(),
    listOver: async (query) => (await queue()).listOver(query),
    listStranded: async (query) => (await queue()).listStranded(query),
    listAwaitingTasks: async (query) => (await queue()).listAwaitingTasks(query),
    listUnended: async (limit) => (await queue()).listUnended(limit),
    hints,
  };
}
