import { describe, expect, it } from "vitest";
import { dispatchId, runId, threadId } from "../ids.ts";
import { checkCommit } from "./check-commit.ts";
import { composedCommit, isComposed } from "./composed-commit.ts";

const parts = { threadId: threadId("t"), runId: runId("r"), landedStep: 1 };

describe("a composed commit", () => {
  it("is one by its making alone: no copy of it is, nor what looks like it", () => {
    const composed = composedCommit({ ...parts });
    expect(composed).toEqual(parts);
    expect(isComposed(composed)).toBe(true);
    const copies = [{ ...composed }, structuredClone(composed), Object.create(composed), Object.setPrototypeOf({ ...parts }, composed)];
    expect(copies.map(isComposed)).toEqual([false, false, false, false]);
    expect(composed.constructor).toBe(Object);
  });

  it("is still checked for its ids, its messages and what rides in it", () => {
    const blank = composedCommit({ ...parts, fence: { dispatchId: dispatchId("d"), claimToken: " " } });
    const twice = composedCommit({ ...parts, takes: ["w", "w"] });
    const unread = composedCommit({ ...parts, messageDelta: { messages: [], expectedMessageCount: -1 } });
    for (const commit of [blank, twice, unread]) expect(() => checkCommit(commit)).toThrow(/commit of run 'r'/);
  });
});
