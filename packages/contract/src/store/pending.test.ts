import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AwakenError } from "../error.ts";
import { messageId, runId } from "../ids.ts";
import { BOUNDARIES, type DeliveryMode, type PendingRecord, pendingRecord, selectPending } from "./pending.ts";
import {
  checkPendingRevision,
  editPending,
  queueRevision,
  renumberPending,
  reorderPending,
  toPendingRecords,
  toQueue,
} from "./pending-queue.ts";
import { pending, R1, R2, summary, T1, user } from "./test-records.ts";

const idsOf = (entries: readonly PendingRecord[]): readonly string[] => entries.map((entry) => entry.pendingId);
const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (thrown) {
    if (AwakenError.is(thrown)) return thrown.code;
    throw thrown;
  }
  return "nothing thrown";
};

describe("selectPending", () => {
  test("core-execution 69: at next_step the new_run entry stays and the next_step entry behind it is taken", () => {
    expect(idsOf(selectPending([pending("a"), pending("b", { boundary: "next-step" })], "next-step", R1))).toEqual(["b"]);
  });

  test("core-execution 69: with a barrier on the new_run entry nothing is taken at next_step", () => {
    expect(selectPending([pending("a", { barrier: true }), pending("b", { boundary: "next-step" })], "next-step", R1)).toEqual([]);
  });

  test("server-and-durability 53: next_step freeze skips a queued new_run entry; a barrier new_run entry blocks it", () => {
    const steer = pending("steer", { boundary: "next-step", targetRunId: R1, fallbackToNewRun: false });
    expect(idsOf(selectPending([pending("queued"), steer, pending("later")], "next-step", R1))).toEqual(["steer"]);
    expect(selectPending([pending("queued", { barrier: true }), steer], "next-step", R1)).toEqual([]);
  });

  test("core-execution 70: a targeted non-fallback entry whose run ended stays pending when a new run freezes", () => {
    const steer = pending("steer", { boundary: "next-step", targetRunId: R1, fallbackToNewRun: false });
    expect(idsOf(selectPending([steer, pending("next")], "new-run", R2))).toEqual(["next"]);
  });

  test("server-and-durability 54: a steer for a run that ended is not consumed by the next run", () => {
    const steer = pending("steer", { boundary: "next-step", targetRunId: R1, fallbackToNewRun: false });
    for (const boundary of BOUNDARIES) expect(idsOf(selectPending([steer], boundary, R2))).toEqual([]);
    expect(idsOf(selectPending([steer], "next-step", R1))).toEqual(["steer"]);
  });

  test("what is for another run holds nobody back, unless it is a barrier", () => {
    const others = { targetRunId: R1, fallbackToNewRun: false } as const;
    expect(idsOf(selectPending([pending("others", others), pending("own", { ...others, targetRunId: R2 })], "new-run", R2))).toEqual([
      "own",
    ]);
    expect(selectPending([pending("others", { ...others, barrier: true }), pending("own")], "new-run", R2)).toEqual([]);
    const left = pending("left", { ...others, boundary: "next-step" });
    const steer = pending("steer", { boundary: "next-step", targetRunId: R2 });
    for (const at of ["next-step", "on-natural-end", "new-run"] as const)
      expect(idsOf(selectPending([left, steer], at, R2))).toEqual(["steer"]);
    const answer = pending("answer", { boundary: "resume-input", targetRunId: R1 });
    expect(idsOf(selectPending([pending("steer", { boundary: "next-step", targetRunId: R1 }), answer], "resume-input", R1))).toEqual([
      "answer",
    ]);
    expect(selectPending([pending("steer", { boundary: "next-step", barrier: true }), answer], "resume-input", R1)).toEqual([]);
  });

  test("a targeted entry with fallback is taken by the next new run, and by no other boundary of another run", () => {
    const entry = pending("a", { boundary: "next-step", targetRunId: R1 });
    expect(idsOf(selectPending([entry], "new-run", R2))).toEqual(["a"]);
    expect(selectPending([entry], "on-natural-end", R2)).toEqual([]);
  });

  test("an entry enters at its boundary and at each later one", () => {
    const order = ["interrupt", "next-step", "on-natural-end", "new-run"] as const;
    for (const [own, boundary] of order.entries()) {
      for (const [current, at] of order.entries()) {
        expect(selectPending([pending("a", { boundary })], at, R1)).toHaveLength(own <= current ? 1 : 0);
      }
    }
  });

  test("resume_input matches only itself", () => {
    for (const boundary of BOUNDARIES) {
      const isItself = boundary === "resume-input" ? 1 : 0;
      expect(selectPending([pending("a", { boundary: "resume-input" })], boundary, R1)).toHaveLength(isItself);
      expect(selectPending([pending("a", { boundary })], "resume-input", R1)).toHaveLength(isItself);
    }
  });

  test("an entry that waits for a later boundary of the same run holds back what is behind it", () => {
    const entries = [pending("a", { boundary: "on-natural-end" }), pending("b", { boundary: "next-step" })];
    expect(selectPending(entries, "next-step", R1)).toEqual([]);
    expect(idsOf(selectPending(entries, "on-natural-end", R1))).toEqual(["a", "b"]);
  });

  test("`one` is taken alone", () => {
    expect(idsOf(selectPending([pending("a", { granularity: "one" }), pending("b")], "new-run", R1))).toEqual(["a"]);
    expect(idsOf(selectPending([pending("a"), pending("b", { granularity: "one" }), pending("c")], "new-run", R1))).toEqual(["a"]);
  });

  test("a barrier is taken and ends the batch; behind a skipped entry it stops", () => {
    expect(idsOf(selectPending([pending("a"), pending("b", { barrier: true }), pending("c")], "new-run", R1))).toEqual(["a", "b"]);
    const behind = [pending("a"), pending("b", { boundary: "next-step", barrier: true }), pending("c", { boundary: "next-step" })];
    expect(selectPending(behind, "next-step", R1)).toEqual([]);
  });

  const mode: fc.Arbitrary<Partial<DeliveryMode>> = fc.record(
    {
      boundary: fc.constantFrom(...BOUNDARIES),
      granularity: fc.constantFrom("one", "batch"),
      barrier: fc.boolean(),
      targetRunId: fc.constantFrom(R1, R2),
      fallbackToNewRun: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  const queue = fc.array(mode, { maxLength: 12 }).map((modes) => modes.map((each, index) => pending(`p${index}`, each, index + 1)));

  test("takes a subsequence in queue order, and what is behind never changes what is taken in front", () => {
    fc.assert(
      fc.property(queue, fc.constantFrom(...BOUNDARIES), fc.nat(12), (entries, at, cut) => {
        const taken = selectPending(entries, at, R1);
        expect(taken).toEqual(entries.filter((entry) => taken.includes(entry)));
        const front = selectPending(entries.slice(0, cut), at, R1);
        expect(front).toEqual(taken.slice(0, front.length));
        expect(front).toEqual(taken.filter((entry) => entry.position <= cut));
      }),
      { numRuns: 2_000 },
    );
  });

  test("takes nothing across a barrier", () => {
    fc.assert(
      fc.property(queue, fc.constantFrom(...BOUNDARIES), (entries, at) => {
        const taken = selectPending(entries, at, R1);
        const barrier = entries.find((entry) => entry.deliveryMode.barrier);
        if (barrier !== undefined) expect(taken.every((entry) => entry.position <= barrier.position)).toBe(true);
        if (taken.some((entry) => entry.deliveryMode.granularity === "one")) expect(taken).toHaveLength(1);
      }),
    );
  });
});

describe("the queue", () => {
  test("server-and-durability 50: editing bumps the revision; a stale revision is a conflict; an id change is refused", () => {
    const edited = editPending(pending("a"), { revision: 1, message: user("a", "new text"), deliveryMode: { barrier: true } }, 7);
    expect(edited).toMatchObject({ revision: 2, updatedAt: 7, createdAt: 1, deliveryMode: { barrier: true, boundary: "new-run" } });
    expect(codeOf(() => editPending(edited, { revision: 1 }, 8))).toBe("version_conflict");
    expect(codeOf(() => editPending(edited, { revision: 2, message: user("b") }, 8))).toBe("storage_validation");
    expect(codeOf(() => checkPendingRevision(edited, 3))).toBe("version_conflict");
  });

  test("new entries stand at the end with the default delivery", () => {
    const [entry] = toPendingRecords([{ message: user("x"), deliveryMode: { targetRunId: runId("r") } }], {
      threadId: T1,
      length: 4,
      now: 5,
    });
    expect(entry).toMatchObject({
      position: 5,
      revision: 1,
      deliveryMode: { boundary: "new-run", granularity: "batch", targetRunId: "r" },
    });
  });

  test("a summary cannot be pending, nor a message that breaks a shape rule", () => {
    const place = { threadId: T1, length: 0, now: 1 };
    expect(codeOf(() => toPendingRecords([{ message: summary("s", { fromSeq: 1, toSeq: 1 }) }], place))).toBe("storage_validation");
    const hostile = JSON.parse('{"id":"x","role":"user","content":[],"toolCallId":"c"}');
    expect(codeOf(() => toPendingRecords([{ message: hostile }], place))).toBe("storage_validation");
  });

  test("its revision changes with order, edits and length, and is 16 hex digits", () => {
    const entries = [pending("a", {}, 1), pending("b", {}, 2)];
    const revision = queueRevision(entries);
    expect(revision).toMatch(/^[0-9a-f]{16}$/);
    expect(queueRevision([])).toBe("cbf29ce484222325");
    expect(queueRevision(entries)).toBe(toQueue(entries).revision);
    expect(queueRevision(reorderPending(entries, [messageId("b"), messageId("a")], revision))).not.toBe(revision);
    expect(queueRevision([pending("a"), { ...pending("b", {}, 2), revision: 2 }])).not.toBe(revision);
    expect(queueRevision([pending("a")])).not.toBe(revision);
  });

  test("reordering needs the current revision and every id once", () => {
    const entries = [pending("a", {}, 1), pending("b", {}, 2), pending("c", {}, 3)];
    const revision = queueRevision(entries);
    const order = (...ids: readonly string[]) => reorderPending(entries, ids.map(messageId), revision);
    expect(order("c", "a", "b").map((entry) => [entry.pendingId, entry.position])).toEqual([
      ["c", 1],
      ["a", 2],
      ["b", 3],
    ]);
    for (const bad of [["a", "b"], ["a", "b", "b"], ["a", "b", "x"], ["a", "b", "c", "c"], []]) {
      expect(codeOf(() => order(...bad))).toBe("storage_validation");
    }
    expect(codeOf(() => reorderPending(entries, [], "0"))).toBe("version_conflict");
  });

  test("renumbering closes gaps and leaves the rest alone", () => {
    const [first, third] = [pending("a", {}, 1), pending("c", {}, 3)];
    const dense = renumberPending([first, third]);
    expect(dense.map((entry) => entry.position)).toEqual([1, 2]);
    expect(dense[0]).toBe(first);
  });

  test("a stored entry whose id is not that of its message is corrupt", () => {
    expect(codeOf(() => pendingRecord.read({ ...pending("a"), pendingId: "b" }, "t1/b"))).toBe("storage_corrupt");
  });
});
