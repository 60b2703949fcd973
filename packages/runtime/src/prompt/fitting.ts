/*
 * What is done about messages that have too little room, and how they are weighed. Loaded in one piece, behind the door of `fitting-door.ts`.
 */
export { estimateInstructions, estimateMessages } from "./estimate.ts";
export { fittingTransform } from "./fitting-transform.ts";
export { fitMessages, shrinkRequest } from "./shrink.ts";
