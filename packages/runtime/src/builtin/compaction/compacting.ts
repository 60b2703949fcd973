/*
 * What is done about a conversation that became too long, from what is left out to the notice that the run gets. Loaded in one piece, behind
 * the door of `compacting-door.ts`.
 */
export { begin } from "./begin.ts";
export { compactionsOf } from "./compaction-task.ts";
