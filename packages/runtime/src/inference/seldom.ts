/*
 * What an inference does without whose answer comes as a stream that opens at once, is read to its end, and is kept nowhere meanwhile. Loaded in one piece, behind
 * the door of `seldom-door.ts`.
 */

export { afterFailure, failureOf } from "./after-failure.ts";
export { isOverflow, leavingFailure, told } from "./failed-answer.ts";
export { openAgain, tooLate } from "./open-again.ts";
export { recordedTurn } from "./recorded-turn.ts";
export { refuseMedia } from "./refuse-media.ts";
export { goOn, truncationPlea } from "./truncation.ts";
export { turnStream } from "./turn-parts.ts";
