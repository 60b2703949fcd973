import type { JSONRPCMessage } from "@modelcontextprotocol/client";

const isResponse = (message: JSONRPCMessage): boolean => !("method" in message);
const isNotification = (message: JSONRPCMessage): boolean => "method" in message && !("id" in message);

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Hands messages on in their order. The client takes notifications a moment later than answers, and what comes of progress after the
 * answer is lost: so an answer waits until the notifications before it were taken.
 */
export class InOrder {
  readonly #deliver: (message: JSONRPCMessage) => void;
  readonly #queue: JSONRPCMessage[] = [];
  #isDraining = false;
  #drained: Promise<void> | undefined;

  constructor(deliver: (message: JSONRPCMessage) => void) {
    this.#deliver = deliver;
  }

  push(message: JSONRPCMessage): void {
    this.#queue.push(message);
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#drained = this.#drain();
  }

  /** When everything that came was handed on. */
  async idle(): Promise<void> {
    await this.#drained;
  }

  async #drain(): Promise<void> {
    let isBehind = false;
    for (;;) {
      const message = this.#queue[0];
      // Also what comes in the turn of a notification is behind it.
      if (isBehind && (message === undefined || isResponse(message))) {
        await nextTurn();
        isBehind = false;
        continue;
      }
      if (message === undefined) break;
      this.#queue.shift();
      this.#deliver(message);
      isBehind ||= isNotification(message);
    }
    this.#isDraining = false;
  }
}
