/*
 * What the tools do that agents have for other agents and for tasks. Loaded in one piece, behind the door of `tool-work-door.ts`.
 */
export { cancelTaskWork } from "./background/cancel-task.ts";
export { delegateWork } from "./delegate/delegate.ts";
export { handoffWork } from "./handoff/handoff.ts";
export { recoverWork } from "./messages/recover.ts";
export { sendMessageWork } from "./messages/send-message.ts";
