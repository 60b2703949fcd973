import type { Answer, Body } from "./endpoints.ts";
import type { Transport } from "./transport.ts";

/** Messages that wait for a run. Whoever changes one says which revision he read. */
export interface PendingVerbs {
  /** In the order in which they will be read. */
  list(thread: string): Promise<Answer<"listPending">>;
  /** Changes what it says, or when it may enter a run. */
  edit(thread: string, pendingId: string, revision: number, change: Body<"editPending">): Promise<Answer<"editPending">>;
  /** Takes it back. */
  retract(thread: string, pendingId: string, revision: number): Promise<void>;
  /** All of them, in their new order; `revision` is that of the list. */
  reorder(thread: string, order: readonly string[], revision: string): Promise<Answer<"reorderPending">>;
}

const seen = (revision: number | string) => ({ "if-match": `"${revision}"` });

export const pendingOf = (transport: Transport): PendingVerbs => ({
  list: (id) => transport.insist("listPending", { ids: { id } }),
  edit: (id, pendingId, revision, body) => transport.ask("editPending", { ids: { id, pendingId }, headers: seen(revision), body }),
  retract: (id, pendingId, revision) => transport.tell("retractPending", { ids: { id, pendingId }, headers: seen(revision) }),
  reorder: (id, order, revision) => transport.ask("reorderPending", { ids: { id }, headers: seen(revision), body: { order } }),
});
