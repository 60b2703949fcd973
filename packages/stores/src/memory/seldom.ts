/* What most programs never ask of the store: loaded in one piece, with the first of it. */
export { deleteThread } from "./delete-thread.ts";
export { dispatchQueue } from "./dispatch-queue.ts";
export { statsOf } from "./stats.ts";
export { sweepAll } from "./sweep.ts";
