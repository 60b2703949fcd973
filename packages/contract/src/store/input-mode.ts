import type { InputMode } from "../event.ts";
import type { PendingRecord } from "./pending.ts";

/** How whoever put it into the queue asked for it to be read. What was put there for one new run is what that run is started with. */
export function inputModeOf({ deliveryMode: { boundary, targetRunId } }: Pick<PendingRecord, "deliveryMode">): InputMode {
  switch (boundary) {
    case "interrupt":
      return "interrupt";
    case "next-step":
      return "steer";
    case "on-natural-end":
      return "queue";
    case "resume-input":
      return "resume";
    case "new-run":
      return targetRunId === undefined ? "queue" : "start";
  }
}
