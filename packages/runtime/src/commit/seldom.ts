/*
 * What runs without a store do without, and what only those need that wait. Loaded in one piece, behind the door of `seldom-door.ts`: by the first run that has a
 * store, since no effects are kept without one; or when a commit did not land at once.
 */
export { checkMessageDelta, effectiveMessages, showEdit } from "@awaken/contract/store";
export { grownView } from "./grown-view.ts";
export * from "./land-again.ts";
export { listByTicket, listOpenTickets, listRuns } from "./memory-queries.ts";
export { listRows, loadRows } from "./memory-rows.ts";
export * from "./run-ledger.ts";
export { lostCommit, takenBack } from "./store-failed.ts";
export { childOf, childrenOf, ticketsOf } from "./tickets.ts";
