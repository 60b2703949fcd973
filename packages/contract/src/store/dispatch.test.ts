import { describe, expect, test } from "vitest";
import { dispatchId } from "../ids.ts";
import {
  cancelDispatch,
  compareDispatches,
  expireDispatch,
  extendLease,
  isLeaseOver,
  nackDispatch,
  queueBehind,
  recordStart,
  releaseDispatch,
  supersedeDispatch,
} from "./dispatch-moves.ts";
import { type ClaimedDispatch, type DispatchRecord, dispatchRecord } from "./dispatch-record.ts";
import {
  ackDispatch,
  claimQueued,
  deadLetterDispatch,
  isDispatchOver,
  type NewDispatch,
  queueDispatch,
  readClaim,
  recordResult,
} from "./dispatch-transitions.ts";
import { R1, T1 } from "./test-records.ts";

const refused = (code: string) => expect.objectContaining({ code });
const init: NewDispatch = { dispatchId: dispatchId("d1"), threadId: T1, runId: R1 };
const queued = (fields: Partial<NewDispatch> = {}) => queueDispatch({ ...init, ...fields }, { epoch: 2, now: 100 });
const claimed = (fields: Partial<NewDispatch> = {}): ClaimedDispatch =>
  claimQueued(queued(fields), { claimToken: "tok", claimedBy: "node-1", leaseMs: 30, now: 200 });
const done = { type: "done", termination: { type: "natural-end" }, response: "ok" } as const;

/** Every state that the moves lead to. */
const states: readonly DispatchRecord[] = [
  queued({ dedupeKey: "k", priority: 0, availableAt: 500, maxAttempts: 1 }),
  claimed(),
  recordStart(claimed(), "i1", 210),
  recordResult(recordStart(claimed(), "i1", 210), done, 220),
  recordResult(claimed(), { type: "failed", error: "x" }, 220),
  recordResult(claimed(), { type: "waiting", termination: { type: "natural-end" } }, 220),
  ackDispatch(recordResult(claimed(), done, 220), 230),
  nackDispatch(recordStart(claimed(), "i1", 210), { error: "io", delayMs: 250, now: 230 }),
  deadLetterDispatch(recordResult(claimed(), done, 220), "401", 230),
  expireDispatch(recordStart(claimed(), "i1", 210), 300),
  releaseDispatch(recordStart(claimed(), "i1", 210), 300),
  cancelDispatch(queued(), 300),
  supersedeDispatch(queued(), "interrupted", 300),
  supersedeDispatch(recordStart(claimed(), "i1", 210), "interrupted", 300),
];

describe("a new dispatch stands behind the last that is open", () => {
  const behind = (createdAt: number, id: string, availableAt = createdAt) => {
    const last = { createdAt, dispatchId: dispatchId(id), availableAt };
    const { createdAt: at, availableAt: dueAt, updatedAt } = queueBehind(last, init, { epoch: 0, now: 5_000 });
    return { at, dueAt, updatedAt };
  };
  const now = { at: 5_000, dueAt: 5_000, updatedAt: 5_000 };

  test.each([
    ["older", behind(4_999, "z"), now],
    ["of this millisecond, with a lower id", behind(5_000, "c9"), now],
    ["of this millisecond, with a higher id", behind(5_000, "d2"), { ...now, at: 5_001 }],
    ["of a clock that is ahead", behind(5_300, "z"), { ...now, at: 5_301, dueAt: 5_300 }],
    ["of a clock that is ahead, with a lower id", behind(5_300, "a"), { ...now, at: 5_300, dueAt: 5_300 }],
    ["of a clock that was set back since", behind(90_000, "z"), { ...now, at: 90_001, dueAt: 6_000 }],
    ["moved behind others itself", behind(5_007, "z", 5_000), { ...now, at: 5_008 }],
    ["moved behind others itself, with a lower id", behind(5_007, "a", 5_000), { ...now, at: 5_007 }],
    ["delayed", behind(4_000, "a", 90_000), now],
    ["delayed, of a clock that is ahead", behind(5_300, "z", 90_000), { ...now, at: 5_301, dueAt: 5_300 }],
  ])("%s", (_, made, expected) => {
    expect(made).toEqual(expected);
  });

  test("and a time that it is given stays", () => {
    const last = { createdAt: 5_300, dispatchId: dispatchId("a"), availableAt: 5_300 };
    expect(queueBehind(last, { ...init, availableAt: 7 }, { epoch: 0, now: 5_000 })).toMatchObject({ availableAt: 7 });
  });
});

describe("the record", () => {
  test("each state that a move leads to can be stored and read back", () => {
    for (const state of states) expect(dispatchRecord.read(JSON.parse(JSON.stringify(dispatchRecord.check(state))), "d1")).toEqual(state);
  });

  test("server-and-durability 7: a queued dispatch with a claim token cannot be loaded", () => {
    expect(() => dispatchRecord.read({ ...queued(), claimToken: "tok" }, "d1")).toThrow(refused("storage_corrupt"));
    expect(() => dispatchRecord.read({ ...queued(), claimToken: "tok" }, "d1")).toThrow(/dispatch 'd1'/);
    expect(() => dispatchRecord.check({ ...queued(), claimToken: "tok" })).toThrow(refused("storage_validation"));
  });

  const echo = { type: "started", instanceId: "i" };
  const lease = { claimToken: "tok", claimedBy: "n", leaseUntil: 5 };
  test.each([
    ["queued with an echo", { ...queued(), echo }],
    ["queued and completed", { ...queued(), completedAt: 1 }],
    ["claimed without a lease", { ...queued(), status: "claimed" }],
    ["claimed with a blank token", { ...claimed(), claimToken: " " }],
    ["claimed with a blank worker", { ...claimed(), claimedBy: "" }],
    ["acked with a lease", { ...ackDispatch(claimed(), 1), ...lease }],
    ["acked without a time", { ...queued(), status: "acked" }],
    ["cancelled with an echo", { ...cancelDispatch(queued(), 1), echo }],
    ["superseded with an echo", { ...supersedeDispatch(queued(), "x", 1), echo }],
    ["a dead letter with a lease", { ...deadLetterDispatch(claimed(), "x", 1), ...lease }],
    ["more attempts than allowed", { ...queued(), attemptCount: 6 }],
    ["no attempt allowed", { ...queued(), maxAttempts: 0 }],
    ["a priority of 256", { ...queued(), priority: 256 }],
    ["a priority of -1", { ...queued(), priority: -1 }],
    ["a blank dedupe key", { ...queued(), dedupeKey: " " }],
    ["an unknown status", { ...queued(), status: "paused" }],
    [
      "a done result that is suspended",
      recordResult(claimed(), JSON.parse('{"type":"done","termination":{"type":"suspended"},"response":""}'), 1),
    ],
    ["a message body", { ...queued(), message: {} }],
  ])("refuses one that is %s", (_, hostile) => {
    expect(() => dispatchRecord.read(hostile, "d1")).toThrow(refused("storage_corrupt"));
  });
});

describe("moves", () => {
  test("queueing stamps epoch, times and defaults, and refuses what is out of range", () => {
    expect(queued()).toMatchObject({
      status: "queued",
      epoch: 2,
      priority: 128,
      maxAttempts: 5,
      attemptCount: 0,
      availableAt: 100,
      createdAt: 100,
    });
    expect(() => queued({ priority: 300 })).toThrow(refused("storage_validation"));
    expect(() => queued({ maxAttempts: 0 })).toThrow(refused("storage_validation"));
    const dirty: NewDispatch = JSON.parse(JSON.stringify({ ...init, claimToken: "tok" }));
    expect(() => queueDispatch(dirty, { epoch: 0, now: 1 })).toThrow(refused("storage_validation"));
    const pretending: NewDispatch = JSON.parse(JSON.stringify({ ...init, status: "acked", attemptCount: 3, epoch: 9 }));
    expect(queueDispatch(pretending, { epoch: 0, now: 1 })).toMatchObject({ status: "queued", attemptCount: 0, epoch: 0 });
  });

  test("server-and-durability 8: a dispatch dead-lettered by lease expiry does not report a run status", () => {
    const last = { ...recordStart(claimed({ maxAttempts: 1 }), "i1", 210), leaseUntil: 1 };
    const dead = expireDispatch(last, 300);
    expect(dead).toMatchObject({ status: "dead-letter", attemptCount: 1, completedAt: 300 });
    expect(Object.keys(dead)).not.toContain("echo");
  });

  test("a dead letter after a nack or by decision keeps what the worker said", () => {
    const said = recordResult(claimed({ maxAttempts: 1 }), { type: "failed", error: "boom" }, 220);
    expect(nackDispatch(said, { error: "boom", delayMs: 1, now: 230 })).toMatchObject({ status: "dead-letter", echo: said.echo });
    expect(deadLetterDispatch(said, "401", 230)).toMatchObject({ lastError: "401", attemptCount: 1, echo: said.echo });
  });

  test("server-and-durability 21: lower priority number first, then the older one", () => {
    const row = (id: string, priority: number, createdAt: number): DispatchRecord => ({
      ...queued({ priority }),
      dispatchId: dispatchId(id),
      createdAt,
    });
    const sorted = [row("late", 5, 9), row("b", 5, 1), row("low", 200, 0), row("a", 5, 1), row("first", 0, 99)].sort(compareDispatches);
    expect(sorted.map((dispatch) => dispatch.dispatchId)).toEqual(["first", "a", "b", "late", "low"]);
  });

  test("server-and-durability 25: a lease that ends now is not expired, one that ended before is", () => {
    expect(isLeaseOver(claimed(), 230)).toBe(false);
    expect(isLeaseOver(claimed(), 231)).toBe(true);
    expect(isLeaseOver(extendLease(claimed(), 30, 220), 250)).toBe(false);
  });

  test("server-and-durability 28: five tries, then a dead letter", () => {
    let row: DispatchRecord = queued();
    const seen: string[] = [];
    for (let attempt = 0; attempt < 5 && row.status === "queued"; attempt++) {
      const claim = claimQueued(row, { claimToken: `tok${attempt}`, claimedBy: "n", leaseMs: 1, now: attempt });
      row = nackDispatch(claim, { error: `e${attempt}`, delayMs: 10, now: attempt });
      seen.push(`${row.status} ${row.attemptCount} ${row.lastError}`);
    }
    expect(seen).toEqual(["queued 1 e0", "queued 2 e1", "queued 3 e2", "queued 4 e3", "dead-letter 5 e4"]);
  });

  test("a nacked dispatch waits for its delay, a released one does not and uses up no try", () => {
    expect(nackDispatch(claimed(), { error: "io", delayMs: 250, now: 230 })).toMatchObject({
      status: "queued",
      availableAt: 480,
      attemptCount: 1,
    });
    expect(releaseDispatch(claimed(), 230)).toMatchObject({ status: "queued", availableAt: 230, attemptCount: 0 });
  });

  test("server-and-durability 26: the claim of an old owner is lost, and one of an older epoch is stale", () => {
    expect(readClaim(claimed(), "tok", 2)).toBe("held");
    expect(readClaim(claimed(), "tok", 3)).toBe("stale");
    expect(readClaim(claimed(), "old", 2)).toBe("lost");
    expect(readClaim(queued(), "tok", 2)).toBe("lost");
    expect(readClaim(ackDispatch(claimed(), 1), "tok", 2)).toBe("lost");
    expect(readClaim(undefined, "tok", 2)).toBe("lost");
  });

  test("only queued and claimed dispatches are not over", () => {
    expect(states.filter((state) => !isDispatchOver(state)).every((state) => ["queued", "claimed"].includes(state.status))).toBe(true);
    expect(states.filter(isDispatchOver)).toHaveLength(5);
  });
});
