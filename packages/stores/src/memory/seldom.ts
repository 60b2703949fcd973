/* What most programs never ask of the store, and what queues are asked for: loaded in one piece, with the first of it. */
export { checkCommit } from "@awaken/contract/store";
export { rarePlans } from "../plan/rare-plans.ts";
export { configRows } from "./config-records.ts";
export { dispatchQueue } from "./dispatch-queue.ts";
export { writeDispatch } from "./dispatch-rows.ts";
export { dispatchPort } from "./dispatches.ts";
export { eventPort } from "./event-reads.ts";
export { messagePort } from "./message-queries.ts";
export { writeOutbound } from "./outbound.ts";
export { copies } from "./own.ts";
export { pendingPort, writePending } from "./pending.ts";
export { profilePort } from "./profiles.ts";
export { runQueries } from "./run-queries.ts";
export { statsOf } from "./stats.ts";
export { dropCheckpoint, streamCheckpointPort } from "./stream-checkpoints.ts";
export { sweepAll } from "./sweep.ts";
export { threadQueries } from "./thread-queries.ts";
export { takeWishes, wishPort } from "./wishes.ts";
