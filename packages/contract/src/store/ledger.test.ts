import { describe, expect, test } from "vitest";
import { messageId, runId, scopeId, toolCallId } from "../ids.ts";
import { effectKey } from "./effect-key.ts";
import { claimEffect, type LedgerClaim, type LedgerEntry, ledgerEntry, settleEffect } from "./ledger.ts";
import { R1, R2, T1 } from "./test-records.ts";

const refused = (code: string) => expect.objectContaining({ code });
const key = effectKey(R1, messageId("m1"), toolCallId("c1"));
const claim: LedgerClaim = {
  idempotencyKey: key,
  attempt: 1,
  messageId: messageId("m1"),
  toolCallId: toolCallId("c1"),
  toolName: "refund",
  step: 0,
  input: { amount: 100 },
};
const owner = { threadId: T1, runId: R1, now: 5 };
const claimed = claimEffect(undefined, claim, owner);
const success = { type: "success", data: { ok: true } } as const;
const pendingResult = { type: "pending", suspension: { action: "approve" } } as const;
const settle = (before: LedgerEntry | undefined, result: Parameters<typeof settleEffect>[1]["result"], attempt = 1) =>
  settleEffect(before, { idempotencyKey: key, attempt, result }, 9);

describe("effectKey", () => {
  test("is stable, and different for different calls, whatever is in the ids", () => {
    expect(effectKey(R1, messageId("m1"), toolCallId("c1"))).toBe(key);
    const parts = [
      ["r:1", "m", "c"],
      ["r", "1:m", "c"],
      ["r", "m", "1:c"],
      ["r%3A1", "m", "c"],
    ] as const;
    expect(new Set(parts.map(([r, m, c]) => effectKey(runId(r), messageId(m), toolCallId(c)))).size).toBe(parts.length);
  });

  test("names the tenant, unless it is the default one", () => {
    const of = (scope: string) => effectKey(R1, messageId("m1"), toolCallId("c1"), scopeId(scope));
    expect(of("default")).toBe(key);
    expect(new Set(["default", "a", "b", "a:b", "a%3Ab"].map(of)).size).toBe(5);
  });
});

describe("a claim", () => {
  test("is a row without an outcome", () => {
    expect(claimed).toEqual({ ...claim, schemaVersion: 1, status: "claimed", threadId: T1, runId: R1, claimedAt: 5 });
  });

  test("of a finished effect is refused: never a silent second run", () => {
    expect(() => claimEffect(settle(claimed, success), { ...claim, attempt: 2 }, owner)).toThrow(refused("idempotency_conflict"));
  });

  test("of two processes for the same try has one winner", () => {
    expect(() => claimEffect(claimed, claim, owner)).toThrow(refused("version_conflict"));
    expect(() => claimEffect(claimed, { ...claim, attempt: 3 }, owner)).toThrow(refused("version_conflict"));
    expect(() => claimEffect(undefined, { ...claim, attempt: 2 }, owner)).toThrow(refused("version_conflict"));
    expect(claimEffect(claimed, { ...claim, attempt: 2 }, { ...owner, now: 7 })).toMatchObject({ attempt: 2, claimedAt: 7 });
  });

  test("after a suspension may have an edited input", () => {
    const again = claimEffect(settle(claimed, pendingResult), { ...claim, attempt: 2, input: { amount: 90 } }, owner);
    expect(again).toMatchObject({ status: "claimed", attempt: 2, input: { amount: 90 } });
    expect(Object.keys(again)).not.toContain("result");
  });

  test("with a key of another call or run is refused", () => {
    const next = { ...claim, attempt: 2 };
    expect(() => claimEffect(claimed, { ...next, toolCallId: toolCallId("c2") }, owner)).toThrow(refused("idempotency_conflict"));
    expect(() => claimEffect(claimed, { ...next, toolName: "pay" }, owner)).toThrow(refused("idempotency_conflict"));
    expect(() => claimEffect(claimed, next, { ...owner, runId: R2 })).toThrow(refused("idempotency_conflict"));
  });

  test("that cannot be stored is refused", () => {
    expect(() => claimEffect(undefined, { ...claim, idempotencyKey: " " }, owner)).toThrow(refused("storage_validation"));
    expect(() => claimEffect(undefined, { ...claim, input: JSON.parse("1e999") }, owner)).toThrow(refused("storage_validation"));
  });
});

describe("an outcome", () => {
  test("finishes or suspends, and is idempotent", () => {
    const finished = settle(claimed, success);
    expect(finished).toMatchObject({ status: "finished", result: success, settledAt: 9 });
    expect(settle(finished, success)).toBe(finished);
    const suspended = settle(claimed, pendingResult);
    expect(suspended).toMatchObject({ status: "suspended" });
    expect(settle(suspended, success)).toMatchObject({ status: "finished", result: success });
    expect(() => settle(suspended, { ...pendingResult, message: "again" })).toThrow(refused("idempotency_conflict"));
    expect(settle(claimed, { type: "error", code: "timeout", message: "late" })).toMatchObject({ status: "finished" });
  });

  test("that contradicts the first, comes late or has no claim is refused", () => {
    expect(() => settle(settle(claimed, success), { ...success, data: 2 })).toThrow(refused("idempotency_conflict"));
    expect(() => settle(claimEffect(claimed, { ...claim, attempt: 2 }, owner), success, 1)).toThrow(refused("version_conflict"));
    expect(() => settle(undefined, success)).toThrow(refused("storage_not_found"));
  });
});

test("a finished row with a pending result, or a claimed one with a result, is corrupt", () => {
  expect(() => ledgerEntry.read({ ...claimed, status: "finished", result: pendingResult, settledAt: 1 }, key)).toThrow(
    refused("storage_corrupt"),
  );
  expect(() => ledgerEntry.read({ ...claimed, result: success }, key)).toThrow(refused("storage_corrupt"));
});
