import { EVENT_TABLE } from "@awaken/contract";
import { expect, test } from "vitest";
import { KEPT } from "./events.ts";

test("the client waits for the cursor of whatever the log alone tells", () => {
  // Both are also told while the answer that they are about is under way.
  const live = new Set(["stream-reset", "tool-call-cancel"]);
  const kept = Object.entries(EVENT_TABLE).flatMap(([type, { isStored }]) => (isStored && !live.has(type) ? [type] : []));
  expect(Object.keys(KEPT).toSorted()).toEqual(kept.toSorted());
});
