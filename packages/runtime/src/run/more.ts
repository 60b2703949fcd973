/*
 * What a run that is started here, and asks no other agent, does without: loaded in one piece, behind the door of `runtime-more.ts`.
 */
export { ChildRuns } from "./child-runs.ts";
export { decide } from "./decide.ts";
export { reconcile } from "./reconcile.ts";
export { rewind } from "./rewind.ts";
export { followedElsewhere } from "./settled.ts";
export { resume, wait } from "./wait.ts";
