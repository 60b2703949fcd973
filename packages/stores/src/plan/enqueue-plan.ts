import { type NewDispatch, type QueuedDispatch, queueBehind } from "@awaken/contract/store";
import { checkNew, type QueueReads } from "./dispatch-plan.ts";

export const planEnqueue = (init: NewDispatch, reads: QueueReads, now: number): QueuedDispatch =>
  checkNew(queueBehind(reads.newest(), init, { epoch: reads.epoch(), now }), reads);
