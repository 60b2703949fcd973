import { describe, expect, test } from "vitest";
import { dispatchId, messageId, runId, threadId, toolCallId } from "../ids.ts";
import { checkCommit } from "./check-commit.ts";
import type { ThreadCommit } from "./commit.ts";
import { effectKey } from "./effect-key.ts";
import type { EventDraft } from "./events.ts";
import type { LedgerClaim } from "./ledger.ts";
import { created, R1, R2, result, summary, T1, user } from "./test-records.ts";

const refused = expect.objectContaining({ code: "storage_validation" });
const draft: EventDraft = {
  schemaVersion: 1,
  threadId: T1,
  runId: R1,
  kind: "run-queued",
  payload: {},
  visibility: "public",
  origin: "mailbox",
};
const claim: LedgerClaim = {
  idempotencyKey: effectKey(R1, messageId("m1"), toolCallId("c1")),
  attempt: 1,
  messageId: messageId("m1"),
  toolCallId: toolCallId("c1"),
  toolName: "refund",
  step: 0,
  input: {},
};
const full: ThreadCommit = {
  threadId: T1,
  runId: R1,
  messageDelta: { messages: [user("m1"), user("m2")], expectedMessageCount: 4 },
  run: created,
  isNewRun: true,
  threadState: { schemaVersion: 1, revision: 1, extensions: {} },
  events: [{ draft, idempotency: { writerId: "w", key: "k" } }],
  ledger: { claims: [claim], outcomes: [] },
  dispatch: { type: "enqueue", dispatch: { dispatchId: dispatchId("d"), threadId: T1, runId: R1 } },
  pending: { append: [{ message: user("m1") }], consume: { boundary: "new-run", entries: [{ pendingId: messageId("m1"), revision: 1 }] } },
  landedStep: 3,
  fence: { dispatchId: dispatchId("d"), claimToken: "tok" },
};

test("a commit with everything, and one with nothing, pass", () => {
  expect(() => checkCommit(full)).not.toThrow();
  expect(() => checkCommit({ threadId: T1, runId: R1 })).not.toThrow();
});

test("server-and-durability 9: a non-empty delta without expectedMessageCount is refused before any I/O", () => {
  for (const expectedMessageCount of [undefined, null, -1, 1.5, "4"]) {
    const hostile: ThreadCommit = JSON.parse(JSON.stringify({ ...full, messageDelta: { messages: [user("m1")], expectedMessageCount } }));
    expect(() => checkCommit(hostile)).toThrow(refused);
  }
});

test("core-execution 62: a delta that breaks a shape rule is a validation error", () => {
  const withDelta = (...messages: readonly Parameters<typeof summary>[1][]) => ({
    ...{ threadId: T1, runId: R1 },
    messageDelta: { messages: messages.map((mark, index) => summary(`s${index}`, mark)), expectedMessageCount: 4 },
  });
  expect(() => checkCommit(withDelta({ fromSeq: 1, toSeq: 4 }, { fromSeq: 1, toSeq: 5 }))).not.toThrow();
  expect(() => checkCommit(withDelta({ fromSeq: 1, toSeq: 5 }))).toThrow(refused);
  const twice = { messages: [user("m1"), user("m1")], expectedMessageCount: 4 };
  expect(() => checkCommit({ threadId: T1, runId: R1, messageDelta: twice })).toThrow(refused);
});

describe("refuses", () => {
  const { fence: _fence, ...unfenced } = full;
  const { run: _run, ...withoutRun } = full;
  const dispatch = { dispatchId: dispatchId("d"), threadId: T1, runId: R1 };
  const consume = (...ids: readonly string[]) => ({
    consume: { boundary: "next-step" as const, entries: ids.map((id) => ({ pendingId: messageId(id), revision: 1 })) },
  });

  const cases: readonly (readonly [string, ThreadCommit])[] = [
    ["a blank thread", JSON.parse('{"threadId":" ","runId":"r"}')],
    ["no run id", JSON.parse('{"threadId":"t"}')],
    ["a blank claim token", { ...full, fence: { dispatchId: dispatchId("d"), claimToken: "" } }],
    ["a run of another thread", { ...full, run: { ...created, threadId: threadId("t2") } }],
    ["another run", { ...full, run: { ...created, runId: R2 } }],
    ["a run that cannot be stored", { ...full, run: { ...created, agentId: "" } }],
    ["a new run without its record", withoutRun],
    ["a thread state that cannot be stored", { ...full, threadState: JSON.parse('{"schemaVersion":2,"revision":0,"extensions":{}}') }],
    ["messages that are no list", { ...full, messageDelta: JSON.parse('{"messages":{},"expectedMessageCount":0}') }],
    ["an event of another thread", { ...full, events: [{ draft: { ...draft, threadId: threadId("t2") } }] }],
    ["an event of another run", { ...full, events: [{ draft: { ...draft, runId: R2 } }] }],
    ["an event that cannot be stored", { ...full, events: [{ draft: { ...draft, kind: "" } }] }],
    ["one effect claimed twice", { ...full, ledger: { claims: [claim, claim], outcomes: [] } }],
    ["a dispatch of another run", { ...full, dispatch: { type: "enqueue", dispatch: { ...dispatch, runId: runId("r9") } } }],
    [
      "a claimed dispatch of another thread",
      {
        ...full,
        dispatch: { type: "enqueue-claimed", dispatch: { ...dispatch, threadId: threadId("t9") }, claim: { consumer: "n", leaseMs: 1 } },
      },
    ],
    ["an ack without a fence", { ...unfenced, dispatch: { type: "ack", result: { type: "failed", error: "x" } } }],
    ["a dead letter without a fence", { ...unfenced, dispatch: { type: "dead-letter", error: "x" } }],
    ["consumed messages that are not in the delta", { ...full, pending: consume("m1", "zzz") }],
    ["consumed messages in another order", { ...full, pending: consume("m2", "m1") }],
    ["one message consumed twice", { ...full, pending: consume("m1", "m1") }],
    ["consumption without a delta", { threadId: T1, runId: R1, pending: consume("m1") }],
    [
      "a result without its call id",
      { ...full, messageDelta: { messages: [{ ...result("m1", "c"), toolCallId: JSON.parse('""') }], expectedMessageCount: 0 } },
    ],
  ];

  test.each(cases)("%s", (_, commit) => {
    expect(() => checkCommit(commit)).toThrow(refused);
  });
});
