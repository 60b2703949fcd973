import type { ThreadId } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import type { EventScope } from "./events.ts";

/** A small thing that is worth telling while it happens, about one thread. */
export interface Parcel {
  readonly threadId: ThreadId;
  readonly body: JsonObject;
}

/** A parcel whose JSON is longer may not arrive: servers limit what they pass on. */
export const MAX_PARCEL_BYTES = 7_000;

/**
 * How whoever follows a tenant's threads hears of what happens, without asking again and again. Nothing of it is stored, and all of it is
 * best effort: the log is what counts, and whoever is woken reads it.
 */
export interface LiveStore {
  /**
   * Calls `wake` after every commit that makes this log longer, or takes it away, in whatever process; one call may stand for several.
   * For the log of a run also when a dispatch of it is over: if nobody has begun it by then, nothing else may ever come.
   * What was written before this returns is for the caller to read. It costs nothing while nobody follows, and nothing while nothing
   * happens, except where an engine can only be asked whether something did.
   */
  follow(scope: EventScope, wake: () => void): () => void;

  /** Passes a parcel on to everybody who listens, in order; to other processes only where the engine can push. Never waits, never throws. */
  send(parcel: Parcel): void;

  /** Parcels of this tenant, its own too, until the answer is called. */
  listen(receive: (parcel: Parcel) => void): () => void;
}
