import type { ClosedTicket, Decided, DecidedTicket } from "@awaken/contract";
import { defineRuntimeState } from "./key.ts";
import { lateSchema } from "./late-schema.ts";

export type PastTicketsUpdate =
  | { readonly type: "decided"; readonly ticket: DecidedTicket }
  /** Nobody can decide about it any more. */
  | { readonly type: "closed"; readonly ticket: ClosedTicket };

/** What became of the tickets of this run that are not open any more. */
export const pastTickets = defineRuntimeState("decided", {
  merge: "commutative",
  schema: lateSchema((room) => room.decidedSchema),
  initial: (): Decided => ({ entries: [] }),
  apply: (value, { type, ticket }: PastTicketsUpdate): Decided =>
    type === "decided" ? { ...value, entries: [...value.entries, ticket] } : { ...value, closed: [...(value.closed ?? []), ticket] },
});
