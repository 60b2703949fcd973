/*
 * What a run that is started here, and asks no other agent, does without: loaded in one piece, behind the door of `more-door.ts`.
 */
export { checkRoot } from "../backend/check-profile.ts";
export { ChildRuns } from "./child-runs.ts";
export { decide } from "./decide.ts";
export { deliverHere } from "./deliver-here.ts";
export { withFamily } from "./family-usage.ts";
export { freed, isReleased } from "./freed.ts";
export { initialize } from "./initialize.ts";
export { left } from "./left-run.ts";
export { openTasks } from "./open-tasks.ts";
export { reconcile } from "./reconcile.ts";
export { rewind } from "./rewind.ts";
export { followedElsewhere } from "./settled.ts";
export { stopWaiting } from "./stop-waiting.ts";
export { tellOwner } from "./tell-owner.ts";
export { resume, wait } from "./wait.ts";
export { wakeThread } from "./wake-thread.ts";
