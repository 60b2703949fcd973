/** An unbounded queue with one reader. What was pushed before the reader came is kept. */
export class Queue<T> {
  /** Undefined while there are none: most queues stay empty. */
  #items: T[] | undefined;
  #isClosed = false;
  /** Who waits for it (`queue-ready.ts`), by signal: a reader who gave up waiting and waits again leaves nothing behind. */
  waits: Map<AbortSignal | undefined, { readonly promise: Promise<void>; readonly wake: () => void }> | undefined;

  /** Is given each item that came too late; called again when it is sent again. */
  onRefused?(item: T): void;

  get size(): number {
    return this.#items?.length ?? 0;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** False when the queue is closed: the item was not taken, and whoever cares for late ones has it. */
  push(item: T): boolean {
    const isTaken = this.tryPush(item);
    if (!isTaken) this.onRefused?.(item);
    return isTaken;
  }

  /** The same, and nobody else hears of one that was not taken. */
  tryPush(item: T): boolean {
    if (this.#isClosed) return false;
    if (this.#items === undefined) this.#items = [item];
    else this.#items.push(item);
    this.#wakeAll();
    return true;
  }

  close(): void {
    this.#isClosed = true;
    this.#wakeAll();
  }

  /** Takes everything that is there. */
  drain(): T[] {
    const items = this.#items;
    this.#items = undefined;
    return items ?? [];
  }

  #wakeAll(): void {
    if (this.waits !== undefined) for (const { wake } of this.waits.values()) wake();
  }
}
