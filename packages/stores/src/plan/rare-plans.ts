import { planEnqueue } from "./enqueue-plan.ts";
import { leftPending, planNext } from "./next-plan.ts";
import { planOutbound } from "./outbound-plan.ts";
import { planPending } from "./pending-plan.ts";
import { planTakes } from "./wish-plan.ts";

/** What a commit needs that queues, takes or puts messages that wait, follows wishes, has something for other threads, or leaves something over. */
export const rarePlans = { leftPending, planEnqueue, planNext, planOutbound, planPending, planTakes };

export type RarePlans = typeof rarePlans;
