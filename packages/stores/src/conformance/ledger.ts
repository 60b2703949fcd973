import { messageId, type ToolResult, toolCallId } from "@awaken/contract";
import { effectKey, type LedgerClaim, type LedgerOutcome, type ThreadCommit } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { claim, R1, R2, runs, T1, T2, write } from "./records.ts";
import { failure, type StoreTest, type World } from "./world.ts";

export function ledgerConformance(it: StoreTest): void {
  describe("the effect ledger", () => {
    claims(it);
    outcomes(it);
  });
}

const success: ToolResult = { type: "success", data: { refunded: [90] } };
const pending: ToolResult = { type: "pending", suspension: { action: "approve" } };
const keyOf = (call: string): string => effectKey(R1, messageId("m1"), toolCallId(call));
const outcome = (call: string, result: ToolResult, attempt = 1): LedgerOutcome => ({ idempotencyKey: keyOf(call), attempt, result });
const change = (own: readonly LedgerClaim[], results: readonly LedgerOutcome[] = []): ThreadCommit => ({
  threadId: T1,
  runId: R1,
  ledger: { claims: own, outcomes: results },
});

const running = ({ store }: World) => store.commit(write(runs.running()));

function claims(it: StoreTest): void {
  it("a claim is stored before the tool starts, and listed in the order of the claims", async (world) => {
    const { store, clock } = world;
    await running(world);
    await store.commit(change([claim("c2"), claim("c1")]));
    clock.advance(1);
    await store.commit(change([claim("c3", { step: 1 })]));
    const first = await store.ledger.load(keyOf("c2"));
    expect(first).toEqual({ ...claim("c2"), schemaVersion: 1, status: "claimed", threadId: T1, runId: R1, claimedAt: clock.now() - 1 });
    expect((await store.ledger.list(R1)).map((entry) => entry.toolCallId)).toEqual(["c2", "c1", "c3"]);
    expect(await store.ledger.load("unknown")).toBeUndefined();
    expect(await store.ledger.list(R2)).toEqual([]);
  });

  it("a claim may come with the run that makes it, and needs one that is not done", async ({ store }) => {
    await failure(store.commit(change([claim("c1")])), "illegal_transition");
    expect(await store.threads.load(T1)).toBeUndefined();
    await store.commit(write(runs.running(), change([claim("c1")])));
    await failure(store.commit(write(runs.done({ updatedAt: 2 }), change([claim("c2")]))), "illegal_transition");
    expect((await store.runs.load(R1))?.status).toBe("running");
    await store.commit(write(runs.done({ updatedAt: 2 })));
    await failure(store.commit(change([claim("c2")])), "illegal_transition");
    expect(await store.ledger.list(R1)).toHaveLength(1);
  });

  it("of two processes that begin the same try one wins", async (world) => {
    const { store, peer } = world;
    await running(world);
    const tries = await Promise.allSettled([store, peer, store, peer].map((node) => node.commit(change([claim("c1")]))));
    expect(tries.filter((each) => each.status === "fulfilled")).toHaveLength(1);
    for (const each of tries) if (each.status === "rejected") expect(each.reason).toMatchObject({ code: "version_conflict" });
    await store.commit(change([claim("c1", { attempt: 2 })]));
    expect(await store.ledger.load(keyOf("c1"))).toMatchObject({ attempt: 2, status: "claimed" });
    await failure(store.commit(change([claim("c1", { attempt: 4 })])), "version_conflict");
  });

  it("a key belongs to one call of one run", async (world) => {
    const { store } = world;
    await running(world);
    await store.commit(change([claim("c1")]));
    await failure(store.commit(change([claim("c1", { attempt: 2, toolName: "pay" })])), "idempotency_conflict");
    await failure(store.commit(change([claim("c1"), claim("c1", { attempt: 2 })])), "storage_validation");
    const other = runs.running({ runId: R2, threadId: T2 });
    await failure(store.commit(write(other, { ledger: { claims: [claim("c1", { attempt: 2 })], outcomes: [] } })), "idempotency_conflict");
    expect(await store.ledger.load(keyOf("c1"))).toMatchObject({ attempt: 1, runId: R1, toolName: "refund" });
  });
}

function outcomes(it: StoreTest): void {
  it("an outcome finishes its claim for good: the effect is never claimed again", async (world) => {
    const { store, clock } = world;
    await running(world);
    await store.commit(change([claim("c1"), claim("c2")]));
    clock.advance(3);
    await store.commit(change([], [outcome("c1", success)]));
    const finished = await store.ledger.load(keyOf("c1"));
    expect(finished).toMatchObject({ status: "finished", result: success, settledAt: clock.now(), claimedAt: clock.now() - 3 });
    clock.advance(1);
    await store.commit(change([], [outcome("c1", { data: { refunded: [90] }, type: "success" })]));
    expect(await store.ledger.load(keyOf("c1"))).toEqual(finished);
    await failure(store.commit(change([], [outcome("c1", { type: "success", data: 2 })])), "idempotency_conflict");
    await failure(store.commit(change([claim("c1", { attempt: 2 })])), "idempotency_conflict");
    const open = await store.ledger.list(R1, { statuses: ["claimed"] });
    expect(open.map((entry) => entry.toolCallId)).toEqual(["c2"]);
    expect(await store.ledger.list(R1, { statuses: ["claimed", "finished"] })).toHaveLength(2);
    expect(await store.ledger.list(R1, { statuses: [] })).toEqual([]);
  });

  it("a suspended effect may be claimed again, with another input", async (world) => {
    const { store } = world;
    await running(world);
    await store.commit(change([claim("c1")]));
    await store.commit(change([], [outcome("c1", pending)]));
    expect(await store.ledger.load(keyOf("c1"))).toMatchObject({ status: "suspended", result: pending });
    await store.commit(change([claim("c1", { attempt: 2, input: { amount: 1 } })]));
    const again = await store.ledger.load(keyOf("c1"));
    expect(again).toMatchObject({ status: "claimed", attempt: 2, input: { amount: 1 } });
    expect(Object.keys(again ?? {})).not.toContain("result");
    await failure(store.commit(change([], [outcome("c1", success)])), "version_conflict");
    await store.commit(change([], [outcome("c1", { type: "error", code: "timeout", message: "late" }, 2)]));
    expect(await store.ledger.load(keyOf("c1"))).toMatchObject({ status: "finished" });
  });

  it("a suspended effect that is answered is finished without another try", async (world) => {
    const { store } = world;
    await running(world);
    await store.commit(change([claim("c1")]));
    await store.commit(change([], [outcome("c1", pending)]));
    await store.commit(change([], [outcome("c1", success)]));
    expect(await store.ledger.load(keyOf("c1"))).toMatchObject({ status: "finished", attempt: 1, result: success });
    await failure(store.commit(change([claim("c1", { attempt: 2 })])), "idempotency_conflict");
  });

  it("a claim and its outcome may be in one commit, and an outcome without a claim is not found", async (world) => {
    const { store } = world;
    await running(world);
    await store.commit(change([claim("c1")], [outcome("c1", success)]));
    expect(await store.ledger.load(keyOf("c1"))).toMatchObject({ status: "finished" });
    await failure(store.commit(change([], [outcome("c9", success)])), "storage_not_found");
  });
}
