import type { Message } from "@awaken/contract";
import type { Boundary as BoundaryName, SequencedMessage } from "@awaken/contract/store";

/** Where messages that wait in the thread's queue may enter. Freezing them commits them; only then the model sees them. */
export interface Boundary {
  freeze(at: BoundaryName): Promise<readonly SequencedMessage[]>;
  /** Puts messages that came through the inbox into the queue first; undefined: there is no queue, they enter directly. */
  readonly stage: ((messages: readonly Message[]) => Promise<void>) | undefined;
}

export const NO_QUEUE: Boundary = { freeze: async () => [], stage: undefined };
