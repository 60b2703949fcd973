import { isJsonObject, type RunId } from "@awaken/contract";
import type { CallReport } from "./step-progress.ts";

/** Whether it is of a call of this run itself. */
export const isProgressOf = (run: RunId, { activityType, content }: CallReport): boolean =>
  activityType === "tool-call-progress" && isJsonObject(content) && content["runId"] === run;
