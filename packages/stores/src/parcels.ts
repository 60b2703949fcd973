import type { ScopeId } from "@awaken/contract";
import type { Parcel } from "@awaken/contract/store";

export interface ScopedParcel {
  readonly scopeId: ScopeId;
  readonly parcel: Parcel;
}

type Receive = (parcel: ScopedParcel) => void;

/** Passes parcels on inside one process. */
export class Parcels {
  readonly #receivers = new Set<{ readonly receive: Receive }>();

  get size(): number {
    return this.#receivers.size;
  }

  send(parcel: ScopedParcel): void {
    for (const { receive } of this.#receivers) receive(parcel);
  }

  listen(receive: Receive): () => void {
    const receiver = { receive };
    this.#receivers.add(receiver);
    return () => void this.#receivers.delete(receiver);
  }
}
