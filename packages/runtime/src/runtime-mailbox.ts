import { errorMessage, type ScopeId } from "@awaken/contract";
import { DEFAULT_RETENTION } from "@awaken/contract/store";
import type { Mailbox, MailboxInit } from "./mailbox/mailbox.ts";
import type { NodeIdentity } from "./mailbox/node.ts";
import { servesQueue } from "./mailbox/tenant-queue.ts";
import type { QueueWatcher } from "./mailbox/watchers.ts";
import type { Holds } from "./run/holds.ts";
import type { RunParts } from "./run/run-parts.ts";
import type { RuntimeInit } from "./runtime-init.ts";
import { Door, type Late, whenThere } from "./stream/door.ts";

const room = new Door(() => import("./mailbox/mailbox.ts"));

/** The mailbox of one runtime. It is loaded when the runtime is made; runs and verbs that come before it is there wait for it. */
export class RuntimeMailbox {
  readonly #init: MailboxInit;
  readonly #door: Door<Mailbox>;
  #isClosed = false;

  constructor(init: MailboxInit) {
    this.#init = init;
    this.#door = new Door(() => whenThere(room.open(), ({ Mailbox }) => this.#begin(new Mailbox(this.#init))));
  }

  #begin(mailbox: Mailbox): Mailbox {
    if (!this.#isClosed) mailbox.start();
    return mailbox;
  }

  /** Undefined as long as it is being loaded. */
  get opened(): Mailbox | undefined {
    return this.#door.room;
  }

  open(): Late<Mailbox> {
    return this.#door.open();
  }

  /** Begins to take up what waits, as soon as it is loaded. What cannot be loaded is asked for again by the next run. */
  start(): void {
    const opening = this.open();
    if (!(opening instanceof Promise)) return;
    opening.catch((thrown: unknown) => this.#init.parts().log.warn(`the queue could not be opened: ${errorMessage(thrown)}`));
  }

  /** Before it is loaded there is nothing to tell. */
  watch(watcher: QueueWatcher): () => void {
    let leave: (() => void) | undefined;
    let isWatched = true;
    const begin = (mailbox: Mailbox) => {
      if (isWatched) leave = mailbox.watch(watcher);
    };
    const watching = whenThere(this.open(), begin);
    if (watching instanceof Promise) watching.catch(() => {});
    return () => {
      isWatched = false;
      leave?.();
    };
  }

  async close(handsOver: boolean, graceMs: number): Promise<void> {
    this.#isClosed = true;
    // One that could not be loaded holds nothing.
    const mailbox = await Promise.resolve(this.open()).catch(() => undefined);
    await mailbox?.close(handsOver, graceMs);
  }

  holdsOf(scopeId: ScopeId): Holds {
    const { opened } = this;
    return opened === undefined ? this.#holdsLater(scopeId) : opened.holdsOf(scopeId);
  }

  #holdsLater(scopeId: ScopeId): Holds {
    const door = new Door(() => whenThere(this.open(), (mailbox) => mailbox.holdsOf(scopeId)));
    return {
      open: (run, given, isAwaited) => whenThere(door.open(), (holds) => holds.open(run, given, isAwaited)),
      leave: (holding) => door.room?.leave(holding),
      expect: (run) => door.room?.expect(run) ?? (() => {}),
      expectWithin: (run) => door.room?.expectWithin(run),
      release: async (run) => (await door.open()).release(run),
      submit: async (order) => (await door.open()).submit(order),
      post: async (threadId, event, of) => (await door.open()).post(threadId, event, of),
      message: async (request) => (await door.open()).message(request),
      isHeld: async (run) => (await door.open()).isHeld(run),
      cancel: async (run) => (await door.open()).cancel(run),
      decide: async (run, decisions) => (await door.open()).decide(run, decisions),
      keep: async (run, decisions) => (await door.open()).keep(run, decisions),
      unbegun: async (runId) => (await door.open()).unbegun(runId),
      makeRoom: async (threadId) => (await door.open()).makeRoom(threadId),
    };
  }
}

const LEASE_MS = 30_000;
const MAX_ATTEMPTS = 5;
const CONCURRENCY = 10;

/** Undefined for a store without a queue: its runs live in the process that started them. */
export function openMailbox(init: RuntimeInit, node: NodeIdentity, parts: () => RunParts): RuntimeMailbox | undefined {
  const { store, leaseMs = LEASE_MS, maxAttempts = MAX_ATTEMPTS, concurrency = CONCURRENCY } = init;
  if (store === undefined || !servesQueue(store)) return undefined;
  const workers = init.workers === true ? "stays" : init.workers !== false;
  const { yieldBefore: before, retention = DEFAULT_RETENTION } = init;
  const yieldBefore = typeof before === "number" ? () => before : before;
  return new RuntimeMailbox({
    ...{ store, parts, node, leaseMs, maxAttempts, concurrency, workers, yieldBefore },
    retention: retention || undefined,
  });
}
