import { describe, expect, test } from "vitest";
import { dispatchId, runId, threadId, toolCallId } from "./ids.ts";
import { checkRunTransition, type RunRecord } from "./run.ts";
import { runIdentity } from "./run-identity.ts";
import { RUN_STATUSES } from "./statuses.ts";
import { runProjection, runRecord } from "./store/run-schema.ts";
import { created, fullRun, R1, runs, T1, ticket } from "./store/test-records.ts";

const refused = (code: string) => expect.objectContaining({ code });
const roundTrip = (run: RunRecord): RunRecord => runRecord.read(JSON.parse(JSON.stringify(runRecord.check(run))), run.runId);

describe("the record", () => {
  test("comes back as it was written, in each status and with every field", () => {
    for (const run of [...Object.values(runs).map((make) => make()), fullRun]) expect(roundTrip(run)).toEqual(run);
  });

  test("version 1 had the parent in the trace, and no run of it has lost its own", () => {
    const old = { ...created, schemaVersion: 1, ordinal: 1 };
    const activation = { ...created.activation, trace: { ...created.activation.trace, parentRunId: "p" }, seededDecisions: [] };
    expect(runRecord.read({ ...old, activation }, "r1")).toEqual({ ...created, ordinal: 1, parentRunId: "p" });
    expect(runRecord.read({ ...old, activation, parentRunId: "own", rootRunId: "root" }, "r1")).toEqual({
      ...{ ...created, ordinal: 1, parentRunId: "own", rootRunId: "root" },
    });
  });

  test("server-and-durability 5: a waiting run without waiting is rejected on write, and a corrupt row is an error on read", () => {
    const { waiting: _, ...broken } = fullRun.status === "waiting" ? fullRun : { ...fullRun, waiting: undefined };
    expect(() => runProjection.check(broken)).toThrow(refused("storage_validation"));
    expect(() => runRecord.check(broken)).toThrow(refused("storage_validation"));
    expect(() => runRecord.read(broken, "r1")).toThrow(refused("storage_corrupt"));
    expect(() => runRecord.read(broken, "r1")).toThrow(/run 'r1'/);
  });

  const waiting = { reason: "suspended", tickets: [] };
  const outcome = { termination: { type: "natural-end" }, response: "" };
  test.each([
    ["a created run that waits", { ...runs.created(), waiting }],
    ["a created run that has started", { ...runs.created(), startedAt: 1 }],
    ["a created run with an outcome", { ...runs.created(), outcome }],
    ["a running run that waits", { ...runs.running(), waiting }],
    ["a running run that has finished", { ...runs.running(), finishedAt: 3 }],
    ["a running run with an outcome", { ...runs.running(), outcome }],
    ["a running run that never started", { ...runs.created(), status: "running" }],
    ["a waiting run with an outcome", { ...runs.waiting(), outcome }],
    ["a waiting run that has finished", { ...runs.waiting(), finishedAt: 3 }],
    ["a done run that waits", { ...runs.done(), waiting }],
    ["a done run without an outcome", { ...runs.created(), status: "done", finishedAt: 3 }],
    ["a done run without a time of finishing", { ...runs.created(), status: "done", outcome }],
    ["a done run that is suspended", { ...runs.done(), outcome: { ...outcome, termination: { type: "suspended" } } }],
    ["two tickets with one id", { ...runs.waiting(), waiting: { reason: "suspended", tickets: [ticket, ticket] } }],
    ["an unknown waiting reason", { ...runs.waiting(), waiting: { reason: "lunch", tickets: [] } }],
    ["an unknown status", { ...runs.created(), status: "paused" }],
    ["a blank run id", { ...runs.created(), runId: " " }],
    ["a blank thread id", { ...runs.created(), threadId: "" }],
    ["a blank agent id", { ...runs.created(), agentId: "\t" }],
    ["a range from 0", { ...runs.created(), output: { fromSeq: 0, toSeq: 1 } }],
    ["an empty range", { ...runs.created(), output: { fromSeq: 3, toSeq: 2 } }],
    ["negative steps", { ...runs.created(), steps: -1 }],
    ["usage that is no number", { ...runs.created(), usage: { inputTokens: "1", outputTokens: 0, totalTokens: 0 } }],
    ["an unknown field", { ...runs.created(), admin: true }],
    ["an ordinal of 0", { ...runs.created(), ordinal: 0 }],
  ])("refuses %s, on write and on read", (_, hostile) => {
    expect(() => runRecord.check(hostile)).toThrow(refused("storage_validation"));
    expect(() => runProjection.check(hostile)).toThrow(refused("storage_validation"));
    expect(() => runRecord.read(hostile, "r1")).toThrow(refused("storage_corrupt"));
  });

  test("a writer may leave the ordinal out or give back the one that it read; a stored run has one", () => {
    expect(() => runProjection.check(created)).not.toThrow();
    expect(() => runProjection.check(runs.created())).not.toThrow();
    expect(() => runRecord.read(created, "r1")).toThrow(refused("storage_corrupt"));
  });

  test("a record of a newer program is not read", () => {
    expect(() => runRecord.read({ ...created, schemaVersion: 3 }, "r1")).toThrow(refused("storage_too_new"));
  });
});

describe("checkRunTransition", () => {
  const legal: Record<string, readonly string[]> = {
    created: ["created", "running", "done"],
    running: ["running", "waiting", "done"],
    waiting: ["waiting", "running", "done"],
    done: ["done"],
  };

  test.each(RUN_STATUSES.flatMap((from) => RUN_STATUSES.map((to) => [from, to] as const)))("%s to %s", (from, to) => {
    const move = () => checkRunTransition(runs[from](), runs[to]());
    if (legal[from]?.includes(to)) expect(move).not.toThrow();
    else expect(move).toThrow(refused("illegal_transition"));
  });

  test("server-and-durability 6: a done run cannot become running, and no field of it can change", () => {
    const done = runs.done();
    expect(() => checkRunTransition(done, runs.running())).toThrow(refused("illegal_transition"));
    expect(() => checkRunTransition(done, { ...done, steps: 7 })).toThrow(refused("illegal_transition"));
    expect(() => checkRunTransition(done, { ...done, updatedAt: 99 })).toThrow(refused("illegal_transition"));
    const { ordinal: _, ...projection } = done;
    expect(() => checkRunTransition(done, structuredClone(projection))).not.toThrow();
  });

  test("a run stays the same run", () => {
    const running = runs.running();
    for (const other of [{ runId: runId("x") }, { threadId: threadId("x") }, { createdAt: 0 }]) {
      expect(() => checkRunTransition(running, { ...running, ...other })).toThrow(refused("illegal_transition"));
    }
  });

  test("says which run, from where and to where", () => {
    expect(() => checkRunTransition(runs.done(), runs.running())).toThrow(
      expect.objectContaining({ details: { runId: R1, from: "done", to: "running" } }),
    );
  });
});

test("the identity of a run is put together from its record", () => {
  expect(runIdentity(created)).toEqual({
    threadId: T1,
    runId: R1,
    agentId: "assistant",
    origin: "user",
    runMode: "foreground",
    adapter: "internal",
  });
  expect(runIdentity(fullRun)).toMatchObject({
    dispatchId: dispatchId("d"),
    sessionId: "s",
    parentToolCallId: toolCallId("c0"),
    adapter: "ai-sdk",
  });
});
