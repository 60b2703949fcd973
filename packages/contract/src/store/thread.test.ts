import { describe, expect, test } from "vitest";
import { AwakenError } from "../error.ts";
import { messageId, threadId, toolCallId } from "../ids.ts";
import type { Message } from "../message.ts";
import { checkMessageDelta } from "./message-delta.ts";
import { ACTIVATION, assistant, R1, R2, result, runs, summary, T1, user } from "./test-records.ts";
import { checkLineage, patchThread, toThreadRecord } from "./thread.ts";
import { projectRun, type ThreadRecord } from "./thread-projection.ts";
import { messageRecord, threadRecord } from "./thread-rows.ts";

const refused = (code: string) => expect.objectContaining({ code });
const empty = toThreadRecord({ id: T1 }, 1);
const project = (thread: ThreadRecord, ...steps: readonly Parameters<typeof projectRun>[1][]): ThreadRecord =>
  steps.reduce(projectRun, thread);
const pointers = ({ activeRunId, openRunId, latestRun }: ThreadRecord) => [activeRunId, openRunId, latestRun?.id];

describe("the record", () => {
  test("blank strings are absent, the rest is trimmed", () => {
    const thread = toThreadRecord({ id: T1, resourceId: "  ", parentThreadId: " t0 ", title: " Hi " }, 5);
    expect(thread).toEqual({
      schemaVersion: 1,
      id: "t1",
      parentThreadId: "t0",
      metadata: { createdAt: 5, updatedAt: 5, title: "Hi", custom: {} },
    });
  });

  test("a patch keeps what is absent, clears what is null and merges custom keys", () => {
    const thread = toThreadRecord({ id: T1, resourceId: "r", parentThreadId: "t0", title: "old", custom: { a: 1, b: 1 } }, 1);
    expect(patchThread(thread, { custom: { b: 2, c: null } }, 2)).toEqual({
      ...thread,
      metadata: { ...thread.metadata, updatedAt: 2, custom: { a: 1, b: 2, c: null } },
    });
    const cleared = patchThread(thread, { parentThreadId: null, resourceId: null, title: null }, 2);
    expect(Object.keys(cleared)).not.toContain("parentThreadId");
    expect(Object.keys(cleared)).not.toContain("resourceId");
    expect(cleared.metadata).toEqual({ createdAt: 1, updatedAt: 2, custom: { a: 1, b: 1 } });
  });

  test("server-and-durability 1: a thread cannot be its own parent; a parent that does not exist is refused", () => {
    expect(() => toThreadRecord({ id: T1, parentThreadId: "t1" }, 1)).toThrow(refused("storage_validation"));
    expect(() => checkLineage(patchThread(empty, { parentThreadId: "nobody" }, 2), [])).toThrow(refused("storage_validation"));
    expect(() => checkLineage(empty, [])).not.toThrow();
  });

  test("server-and-durability 2: a cycle through a grandparent is refused", () => {
    const child = patchThread(empty, { parentThreadId: "t2" }, 2);
    expect(() => checkLineage(child, [threadId("t2"), threadId("t3"), T1])).toThrow(refused("storage_validation"));
    expect(() => checkLineage(child, [threadId("t2"), threadId("t3")])).not.toThrow();
  });

  test("a corrupt row is an error that names the thread", () => {
    expect(() => threadRecord.read({ ...empty, activeRunId: "  " }, "t1")).toThrow(/thread 't1'/);
    expect(() => threadRecord.read({ ...empty, messages: [] }, "t1")).toThrow(refused("storage_corrupt"));
  });
});

describe("projectRun", () => {
  test.each([
    ["created", runs.created(), [undefined, R1, R1]],
    ["running", runs.running(), [R1, R1, R1]],
    ["waiting", runs.waiting(), [undefined, R1, R1]],
    ["done", runs.done(), [undefined, undefined, R1]],
  ] as const)("a current %s run sets the pointers of the table", (_, run, expected) => {
    expect(pointers(project(empty, run))).toEqual(expected);
    expect(pointers(project(empty, runs.running({ updatedAt: 1 }), { ...run, updatedAt: 2 }))).toEqual(expected);
  });

  test("a current done run clears only pointers that point at it", () => {
    const busy = project(empty, runs.running({ runId: R2, ordinal: 2, updatedAt: 1 }));
    expect(pointers(project(busy, runs.done({ updatedAt: 2 })))).toEqual([R2, R2, R1]);
  });

  test("server-and-durability 4: a stale done projection clears only its own pointers and does not move latestRun", () => {
    const newer = project(empty, runs.running({ updatedAt: 1 }), runs.done({ runId: R2, ordinal: 2, updatedAt: 9 }));
    expect(pointers(newer)).toEqual([R1, R1, R2]);
    const after = project(newer, runs.done({ updatedAt: 3 }));
    expect(pointers(after)).toEqual([undefined, undefined, R2]);
    expect(after.latestRun).toEqual({ id: R2, updatedAt: 9, ordinal: 2 });

    const busy = project(empty, runs.running({ runId: R2, ordinal: 2, updatedAt: 9 }));
    expect(project(busy, runs.done({ updatedAt: 3 }))).toEqual(busy);
  });

  test("a stale run that is not done changes nothing", () => {
    const thread = project(empty, runs.done({ runId: R2, ordinal: 2, updatedAt: 9 }));
    for (const run of [runs.created(), runs.running(), runs.waiting()]) expect(projectRun(thread, run)).toBe(thread);
  });

  test("a tie of time goes to the higher ordinal", () => {
    const first = runs.running({ updatedAt: 5 });
    const second = runs.waiting({ runId: R2, ordinal: 2, updatedAt: 5 });
    expect(pointers(project(empty, first, second))).toEqual([undefined, R2, R2]);
    expect(pointers(project(empty, second, first))).toEqual([undefined, R2, R2]);
  });

  test.each([runs.created(), runs.running(), runs.waiting()])(
    "a run that is put down for later leaves the thread with the one that is $status there",
    (open) => {
      const thread = project(empty, { ...open, updatedAt: 1 });
      const later = runs.created({ runId: R2, ordinal: 2, updatedAt: 5 });
      expect(projectRun(thread, later)).toBe(thread);
      expect(pointers(project(thread, runs.done({ updatedAt: 6 }), { ...later, updatedAt: 7 }))).toEqual([undefined, R2, R2]);
    },
  );

  test("a clock that goes back on another node does not make the latest run stale", () => {
    const thread = project(empty, runs.waiting({ updatedAt: 9 }), runs.running({ updatedAt: 7 }));
    expect(pointers(thread)).toEqual([R1, R1, R1]);
    expect(thread.latestRun?.updatedAt).toBe(9);
  });

  test("a thread without a parent adopts the one of its run, never itself, and keeps one that it has", () => {
    const from = (parent: string) =>
      runs.running({ activation: { ...ACTIVATION, trace: { ...ACTIVATION.trace, parentThreadId: threadId(parent) } } });
    expect(project(empty, from("t0")).parentThreadId).toBe("t0");
    expect(project(empty, from("t1")).parentThreadId).toBeUndefined();
    expect(project(patchThread(empty, { parentThreadId: "p" }, 1), from("t0")).parentThreadId).toBe("p");
  });

  test("gives a record that can be stored", () => {
    for (const run of Object.values(runs)) expect(() => threadRecord.check(project(empty, run()))).not.toThrow();
  });
});

describe("checkMessageDelta", () => {
  const check =
    (messages: readonly Message[], nextSeq = 1) =>
    () =>
      checkMessageDelta(messages, { nextSeq });
  const full: Message = {
    ...assistant("m1", ["c1"]),
    visibility: "internal",
    metadata: { runId: R1, stepIndex: 0, senderAgentId: "a", compaction: { fromSeq: 1, toSeq: 1 } },
    content: [
      { type: "text", text: "hi", providerMetadata: { openai: { id: "x" } } },
      { type: "reasoning", text: "hm", signature: "s" },
      { type: "image", source: { type: "base64", mediaType: "image/png", data: "AA==" } },
      { type: "audio", source: { type: "url", url: "https://x.test/a" } },
      { type: "video", source: { type: "url", url: "https://x.test/v", mediaType: "video/mp4" } },
      { type: "document", source: { type: "url", url: "https://x.test/d" }, title: "d" },
      { type: "tool-call", id: toolCallId("c1"), name: "tool", input: null },
      { type: "tool-call", id: toolCallId("c2"), name: "search", input: {}, executed: "provider" },
      { type: "tool-result", id: toolCallId("c2"), name: "search", output: [], isError: true },
    ],
  };

  test("takes well-formed messages with every field", () => {
    expect(check([full, result("m2", "c1"), user("m3"), summary("m4", { fromSeq: 1, toSeq: 4 })], 2)).not.toThrow();
    expect(messageRecord.check({ schemaVersion: 1, threadId: T1, seq: 2, createdAt: 1, message: full }).message).toEqual(full);
    expect(check([])).not.toThrow();
  });

  test("core-execution 62: an id that is twice in one delta is a validation error", () => {
    expect(check([user("m1"), user("m1")])).toThrow(refused("storage_validation"));
  });

  test("server-and-durability 16: a mark must be 1-based, ordered and end before its own row", () => {
    expect(check([summary("s", { fromSeq: 1, toSeq: 4 })], 5)).not.toThrow();
    expect(check([user("m5"), summary("s", { fromSeq: 1, toSeq: 5 })], 5)).not.toThrow();
    for (const mark of [
      { fromSeq: 1, toSeq: 5 },
      { fromSeq: 0, toSeq: 1 },
      { fromSeq: 3, toSeq: 2 },
      { fromSeq: 1.5, toSeq: 2 },
      { fromSeq: -1, toSeq: Number.POSITIVE_INFINITY },
    ]) {
      expect(check([summary("s", mark)], 5)).toThrow(refused("storage_validation"));
    }
  });

  test.each([
    ["no id", { role: "user", content: [] }],
    ["a blank id", { id: "  ", role: "user", content: [] }],
    ["an id that is no string", { id: 7, role: "user", content: [] }],
    ["an unknown role", { id: "m", role: "root", content: [] }],
    ["a tool message without a call id", { id: "m", role: "tool", toolName: "t", status: "success", content: [] }],
    ["a tool message with a blank call id", { id: "m", role: "tool", toolCallId: " ", toolName: "t", status: "success", content: [] }],
    ["a user message with a call id", { id: "m", role: "user", toolCallId: "c", content: [] }],
    ["a call of a user", { id: "m", role: "user", content: [{ type: "tool-call", id: "c", name: "t", input: {} }] }],
    ["a call of a tool", { ...result("m", "c"), content: [{ type: "tool-call", id: "c", name: "t", input: {} }] }],
    ["a call with a blank id", { id: "m", role: "assistant", content: [{ type: "tool-call", id: "", name: "t", input: {} }] }],
    ["a call with a blank name", { id: "m", role: "assistant", content: [{ type: "tool-call", id: "c", name: " ", input: {} }] }],
    ["a call without input", { id: "m", role: "assistant", content: [{ type: "tool-call", id: "c", name: "t" }] }],
    ["two calls with one id", assistant("m", ["c", "c"])],
    ["a result that says it is a summary", { ...result("m", "c"), metadata: { compaction: { fromSeq: 1, toSeq: 1 } } }],
    ["an unknown visibility", { ...user("m"), visibility: "all" }],
    ["an unknown field", { ...user("m"), admin: true }],
    ["an own __proto__", JSON.parse('{"id":"m","role":"user","content":[],"__proto__":{"admin":true}}')],
    ["content that is no list", { id: "m", role: "user", content: "hi" }],
    ["media without a source", { id: "m", role: "user", content: [{ type: "image" }] }],
    ["null", null],
    ["a number in a text", { id: "m", role: "user", content: [{ type: "text", text: 1 }] }],
  ])("refuses %s", (_, hostile) => {
    const message: Message = JSON.parse(JSON.stringify(hostile));
    expect(check([user("first"), message], 9)).toThrow(refused("storage_validation"));
    const row = { schemaVersion: 1, threadId: "t1", seq: 9, createdAt: 1, message };
    expect(() => messageRecord.read(row, "t1/9")).toThrow(refused("storage_corrupt"));
  });

  test("a hostile text is text", () => {
    expect(check([user(" '; drop table messages; -- \u0000 \ud800 %_\\")])).not.toThrow();
  });

  test("a delta is not changed by the check", () => {
    const delta = Object.freeze([Object.freeze(user(messageId("m1")))]);
    checkMessageDelta(delta, { nextSeq: 1 });
    expect(delta).toEqual([user("m1")]);
  });

  test("a row without a seq, or with a fraction of one, is corrupt", () => {
    for (const seq of [undefined, 0, -1, 1.5, "1"]) {
      expect(() => messageRecord.read({ schemaVersion: 1, threadId: "t1", seq, createdAt: 1, message: user("m") }, "t1/?")).toThrow(
        AwakenError,
      );
    }
  });
});
