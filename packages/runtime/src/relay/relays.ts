import type { ScopeId, ThreadId } from "@awaken/contract";
import type { ActiveRuns } from "../run/active-runs.ts";
import type { Bounds } from "../stream/bounds.ts";
import type { Clock } from "../stream/clock.ts";
import { Door, type Late, whenThere } from "../stream/door.ts";
import type { Ids } from "../stream/ids.ts";
import { nothingKept, type Readers } from "./readers.ts";
import type { Relay } from "./relay.ts";
import { following } from "./relay-door.ts";
import type { RelayStore } from "./relay-store.ts";

export interface RelaysInit {
  /** Undefined: nothing is kept that somebody could follow. */
  readonly storeOf: (scopeId: ScopeId) => RelayStore | undefined;
  /** Of all tenants. */
  readonly active: ActiveRuns;
  /** How long stores may take. */
  readonly bounds: Bounds;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly closing: AbortSignal;
  /** Whoever reads may have the place that the run needs: it is taken up beside it, until what this gives is called. */
  readonly expectIn: (scopeId: ScopeId) => Expect;
}

type Expect = (threadId: ThreadId) => (() => void) | undefined;

/** What there is of a tenant that has a run or a reader here. */
interface Post {
  readonly relay: Door<Relay>;
  readonly leave: (() => void) | undefined;
  /** Made for the first reader. */
  expect: Expect | undefined;
  users: number;
}

/** The relays of the tenants that have a run or a reader here; there is nothing in it for any other one. */
export class Relays implements Readers {
  readonly #init: RelaysInit;
  readonly #posts = new Map<ScopeId, Post>();
  /** Of all readers; one listener on the signal is enough for them. */
  readonly #rings = new Set<() => void>();
  #isListening = false;

  constructor(init: RelaysInit) {
    this.#init = init;
    // Runs that began before this was loaded.
    for (const { scopeId } of init.active.all()) this.#enter(scopeId);
    init.active.tell({
      began: (run) => this.#enter(run.scopeId)?.relay.room?.began(run.threadId),
      ended: (run) => this.exit(run.scopeId),
    });
  }

  enter(scopeId: ScopeId): Late<Relay> {
    const post = this.#enter(scopeId);
    if (post !== undefined) return post.relay.open();
    throw nothingKept();
  }

  expect(scopeId: ScopeId, threadId: ThreadId): (() => void) | undefined {
    const post = this.#posts.get(scopeId);
    if (post === undefined) return undefined;
    post.expect ??= this.#init.expectIn(scopeId);
    return post.expect(threadId);
  }

  exit(scopeId: ScopeId): void {
    const post = this.#posts.get(scopeId);
    if (post === undefined) return;
    post.users -= 1;
    if (post.users > 0) return;
    this.#posts.delete(scopeId);
    post.leave?.();
  }

  readonly onClosing = (ring: () => void): (() => void) => {
    if (!this.#isListening) this.#init.closing.addEventListener("abort", () => this.#rings.forEach((each) => void each()), { once: true });
    this.#isListening = true;
    this.#rings.add(ring);
    return () => void this.#rings.delete(ring);
  };

  #enter(scopeId: ScopeId): Post | undefined {
    const post = this.#posts.get(scopeId) ?? this.#open(scopeId);
    if (post !== undefined) post.users += 1;
    return post;
  }

  /** Hears of others what they ask and tell, as long as there is a run or a reader of this tenant here. */
  #open(scopeId: ScopeId): Post | undefined {
    const { storeOf, active } = this.#init;
    const store = storeOf(scopeId);
    if (store === undefined) return undefined;
    const relay = new Door(() =>
      whenThere(following.open(), (room) => new room.Relay({ ...this.#init, store, active: active.scoped(scopeId) })),
    );
    const leave = store.live?.listen(({ threadId, body }) => {
      const heard = whenThere(relay.open(), ({ exchange }) => exchange.receive(threadId, body));
      // Whoever asked asks again.
      if (heard instanceof Promise) heard.catch(() => {});
    });
    const post: Post = { relay, leave, expect: undefined, users: 0 };
    this.#posts.set(scopeId, post);
    return post;
  }
}
