import type { LoopResult } from "../loop/finish.ts";
import { type RunResult, toRunResult } from "./run-result.ts";

/** As the record has it: whoever did not ask does not know its type. */
export const toUntypedResult = (ended: LoopResult): RunResult => toRunResult<unknown>(ended, (recorded) => recorded);
