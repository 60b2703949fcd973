/*
 * What is changed in a step, what is done about messages that have too little room, and how they are weighed. Loaded in one piece, behind the
 * door of `seldom-door.ts`.
 */
export { assembleChanged } from "./changed.ts";
export { estimateInstructions, estimateMessages } from "./estimate.ts";
export { fittingTransform } from "./fitting-transform.ts";
export { fitMessages, shrinkRequest } from "./shrink.ts";
