/*
 * What is done about messages that have too little room, and how they are weighed. Loaded in one piece, behind the door of `fitting-door.ts`.
 */
export { estimateInstructions, estimateMessages, estimateTools } from "./estimate.ts";
export { createPreviewer } from "./preview.ts";
export { fitMessages, shrinkRequest } from "./shrink.ts";
export { truncateMessages } from "./truncate.ts";
