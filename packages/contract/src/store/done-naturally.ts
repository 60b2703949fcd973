import { NATURAL_END } from "../termination.ts";
import type { DispatchResult } from "./dispatch-record.ts";

/** How most runs end, in what the queue keeps of it: one for all of them. A runtime without a queue has it too, and nothing else of the queue. */
export const DONE_NATURALLY: DispatchResult = Object.freeze({ type: "done", termination: NATURAL_END });
