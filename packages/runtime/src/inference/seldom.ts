/*
 * What an inference does without whose answer comes as a stream that opens at once, is read to its end, and is kept nowhere meanwhile. Loaded in one piece, behind
 * the door of `seldom-door.ts`.
 */

export { afterFailure, failureOf } from "./after-failure.ts";
export { AskedOn, filtered } from "./asked-on.ts";
export { leavingFailure } from "./failed-answer.ts";
export { openAgain, tooLate } from "./open-again.ts";
export { recordedTurn } from "./recorded-turn.ts";
export { refuseMedia } from "./refuse-media.ts";
export { turnStream } from "./turn-parts.ts";
