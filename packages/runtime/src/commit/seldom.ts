/*
 * What runs without a store do without, and what only those need that wait. Loaded in one piece, behind the door of `seldom-door.ts`: by the first run that has a
 * store, since no effects are kept without one.
 */
export { listByTicket, listOpenTickets, listRuns } from "./memory-queries.ts";
export * from "./run-ledger.ts";
export { childOf, childrenOf, ticketsOf } from "./tickets.ts";
