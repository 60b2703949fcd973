import type { Decision } from "@awaken/contract";

/** A decision and what it is about: a ticket id, or, where the run is named, the id of a call. */
export interface AddressedDecision {
  readonly target: string;
  /** Whether the id of a call will do as well. */
  readonly isCall: boolean;
  readonly decision: Decision;
}
