import { AwakenError, errorMessage, type Log } from "@awaken/contract";
import { MAX_COMMIT_ATTEMPTS, type QueuePorts, type RunHint, type StorePorts } from "@awaken/contract/store";
import type { Ask, TenantQueue } from "./tenant-queue.ts";

export type Ports = StorePorts & QueuePorts;

interface Asking {
  readonly queue: TenantQueue;
  readonly ask: Ask;
}

/**
 * All of `work` or nothing of it. It is done again when somebody else wrote at the same moment: the next look tells what. When the store
 * is too slow, whoever asked is told so, and then nothing of it is written later either.
 */
export async function inOne<T>({ queue, ask }: Asking, what: string, work: (ports: Ports) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    let isLeft = false;
    try {
      return await ask(
        what,
        queue.transaction(async (ports) => {
          const done = await work(ports);
          if (isLeft) throw new AwakenError("storage_io", "the store answered too late: nothing of this transaction was written");
          return done;
        }),
      );
    } catch (thrown) {
      isLeft = true;
      const isOvertaken = AwakenError.is(thrown) && thrown.code === "version_conflict";
      if (!isOvertaken || attempt === MAX_COMMIT_ATTEMPTS) throw thrown;
    }
  }
}

/** What it is about is on record: a hint that is lost costs time, and nothing else. Never rejects. */
export async function giveHint({ queue, ask, log }: Asking & { readonly log: Log }, hint: RunHint): Promise<void> {
  try {
    await ask("give a hint", queue.dispatches.hint(hint));
  } catch (thrown) {
    log.warn(`a hint was lost: ${errorMessage(thrown)}`, { runId: hint.runId });
  }
}
