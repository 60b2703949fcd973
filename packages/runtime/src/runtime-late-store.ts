import { DEFAULT_SCOPE, errorMessage, type ScopeId } from "@awaken/contract";
import { servesQueue } from "./mailbox/tenant-queue.ts";
import type { QueueWatcher } from "./mailbox/watchers.ts";
import type { TenantParts } from "./run/run-parts.ts";
import type { RuntimeStore } from "./run/runtime-store.ts";
import type { RuntimeBase } from "./runtime-parts.ts";
import type { OpenStore } from "./runtime-with-store.ts";
import { Door, type Late, whenThere } from "./stream/door.ts";

const room = new Door(() => import("./runtime-with-store.ts"));

/** The store of one runtime. What is done with it is loaded when the runtime is made; runs and verbs that come before it is there wait for it. */
export class LateStore {
  /** Else its runs live in the process that started them. */
  readonly hasQueue: boolean;
  readonly #base: RuntimeBase;
  readonly #store: RuntimeStore;
  readonly #door: Door<OpenStore>;
  #isClosed = false;

  constructor(base: RuntimeBase, store: RuntimeStore) {
    this.hasQueue = servesQueue(store);
    this.#base = base;
    this.#store = store;
    this.#door = new Door(() => whenThere(room.open(), ({ openStore }) => this.#begin(openStore(base, store))));
  }

  #begin(opened: OpenStore): OpenStore {
    if (!this.#isClosed) opened.mailbox?.start();
    return opened;
  }

  /** Undefined as long as it is being loaded. */
  get opened(): OpenStore | undefined {
    return this.#door.room;
  }

  open(): Late<OpenStore> {
    return this.#door.open();
  }

  readonly tenantOf = (scopeId: ScopeId): TenantParts => {
    // What the store has against the tenant is said to whoever asks for him, and to nobody else.
    if (scopeId !== DEFAULT_SCOPE) this.#store.scoped(scopeId);
    const { resolver, more, clock, ids, log, cancelGraceMs, limits, silence, closing, active } = this.#base;
    const parts = new Door(() => whenThere(this.open(), ({ partsOf }) => partsOf(scopeId)));
    return {
      ...{ scopeId, resolver, more, clock, ids, log, cancelGraceMs, limits, silence, closing },
      active: active.scoped(scopeId),
      all: () => parts.open(),
    };
  };

  /** Begins to take up what waits, as soon as it is loaded. What cannot be loaded is asked for again by the next run. */
  start(): void {
    const opening = this.open();
    if (!(opening instanceof Promise)) return;
    opening.catch((thrown: unknown) => this.#base.log.warn(`the store could not be opened: ${errorMessage(thrown)}`));
  }

  /** Before it is loaded there is nothing to tell. */
  watch(watcher: QueueWatcher): () => void {
    let leave: (() => void) | undefined;
    let isWatched = true;
    const watching = whenThere(this.open(), ({ mailbox }) => {
      if (isWatched) leave = mailbox?.watch(watcher);
    });
    if (watching instanceof Promise) watching.catch(() => {});
    return () => {
      isWatched = false;
      leave?.();
    };
  }

  async close(handsOver: boolean, graceMs: number): Promise<void> {
    this.#isClosed = true;
    // One that could not be loaded holds nothing.
    const opened = await Promise.resolve(this.open()).catch(() => undefined);
    await opened?.mailbox?.close(handsOver, graceMs);
  }
}
