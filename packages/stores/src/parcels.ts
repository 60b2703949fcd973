import { NOWHERE, Roster, type ScopeId, type Seated } from "@awaken/contract";
import type { Parcel } from "@awaken/contract/store";

export interface ScopedParcel {
  readonly scopeId: ScopeId;
  readonly parcel: Parcel;
}

type Receive = (parcel: ScopedParcel) => void;

interface Receiver extends Seated {
  readonly receive: Receive;
}

/** Passes parcels on inside one process. */
export class Parcels {
  readonly #receivers = new Roster<Receiver>();

  get size(): number {
    return this.#receivers.size;
  }

  send(parcel: ScopedParcel): void {
    for (const receiver of this.#receivers.all()) if (this.#receivers.has(receiver)) receiver.receive(parcel);
  }

  listen(receive: Receive): () => void {
    const receiver: Receiver = { receive, seat: NOWHERE };
    this.#receivers.add(receiver);
    return () => void this.#receivers.remove(receiver);
  }
}
