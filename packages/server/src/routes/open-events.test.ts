import type { AttachedIterator, AttachOptions } from "@awaken/runtime";
import { expect, test } from "vitest";
import { openEnded } from "./open-events.ts";

test("of a run that is over nothing is waited for: a reader who has all of it is told so, and lets go of the log", async () => {
  let isLeft = false;
  const attach = (_: string, options?: AttachOptions) => {
    const events: AttachedIterator = {
      take: () => undefined,
      next() {
        options?.onCaughtUp?.();
        return new Promise(() => {});
      },
      async return() {
        isLeft = true;
        return { done: true, value: undefined };
      },
    };
    return { [Symbol.asyncIterator]: () => events };
  };
  expect(await openEnded({ attach }, "r", {})).toBeUndefined();
  expect(isLeft).toBe(true);
});
