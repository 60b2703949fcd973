/*
 * What tools of ours, which run here, check their input themselves and give plain JSON that no schema checks, do without. Loaded in one piece, behind the door of `seldom-door.ts`.
 */
export { checkJson } from "@awaken/contract/json-schema";
export { waitForClient } from "./client-call.ts";
export { approveForeign, checkForeign, runForeign } from "./foreign-work.ts";
export { plainResult } from "./plain-result.ts";
