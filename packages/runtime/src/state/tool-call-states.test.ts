import { decisionId, messageId, TOOL_CALL_STATUSES, type ToolCallState, type ToolCallStatus, ticketId, toolCallId } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { command } from "../phase/command.ts";
import { recordedLog, storeOf } from "../plugin/engine-bench.test-support.ts";
import { toolCallStates } from "./tool-call-states.ts";

const ALLOWED: Record<ToolCallStatus, readonly ToolCallStatus[]> = {
  new: TOOL_CALL_STATUSES,
  running: ["running", "suspended", "succeeded", "failed", "cancelled"],
  suspended: ["suspended", "resuming", "cancelled"],
  resuming: ["resuming", "running", "suspended", "succeeded", "failed", "cancelled"],
  succeeded: ["succeeded"],
  failed: ["failed"],
  cancelled: ["cancelled"],
};

const waiting = {
  suspension: { id: ticketId("s1"), action: "approve", message: "may I?" },
  decision: { id: decisionId("d1"), action: "approve", decidedAt: 1 },
} as const;

const callAt = (status: ToolCallStatus, more: Partial<ToolCallState> = {}): ToolCallState => ({
  id: toolCallId("c1"),
  messageId: messageId("m1"),
  name: "pay",
  input: { cents: 1 },
  status,
  resumeMode: "replay-tool-call",
  updatedAt: 1,
  ...more,
});

const set = (call: ToolCallState) => command().update(toolCallStates, { type: "set", call });

function fresh() {
  const log = recordedLog();
  const store = storeOf([toolCallStates], log);
  return {
    log,
    store,
    calls: () => Object.fromEntries((store.snapshot().get(toolCallStates)?.calls ?? []).map((call) => [call.id, call])),
  };
}

describe("toolCallStates", () => {
  it("belongs to the thread and merges", () => {
    expect(toolCallStates).toMatchObject({ name: "__runtime.tool_call_states", scope: "thread", merge: "commutative" });
  });

  for (const from of TOOL_CALL_STATUSES) {
    for (const to of TOOL_CALL_STATUSES) {
      const isAllowed = ALLOWED[from].includes(to);
      it(`${from} ${isAllowed ? "may" : "may not"} become ${to}`, () => {
        const { store, log, calls } = fresh();
        store.commit(set(callAt(from)));
        const before = calls();
        store.commit(set(callAt(to, { updatedAt: 2 })));
        expect(calls()).toEqual(isAllowed ? { c1: callAt(to, { updatedAt: 2 }) } : before);
        expect(log.errors).toHaveLength(isAllowed ? 0 : 1);
      });
    }
  }

  it("takes any status for a call that it does not know", () => {
    for (const status of TOOL_CALL_STATUSES) {
      const { store, calls } = fresh();
      store.commit(set(callAt(status)));
      expect(calls()["c1"]?.status).toBe(status);
    }
  });

  it("drops ticket and decision of a call that is over, and keeps them before", () => {
    for (const status of TOOL_CALL_STATUSES) {
      const { store, calls } = fresh();
      store.commit(set(callAt(status, waiting)));
      const isOver = ["succeeded", "failed", "cancelled"].includes(status);
      expect(calls()["c1"]).toEqual(callAt(status, isOver ? {} : waiting));
    }
  });

  it("shows running and the end in one commit: nobody sees running alone", () => {
    const { store, calls } = fresh();
    const seen: unknown[] = [];
    store.onCommit(({ snapshot }) => seen.push(snapshot.get(toolCallStates)?.calls.find((call) => call.id === "c1")?.status));
    store.commit(
      command()
        .update(toolCallStates, { type: "set", call: callAt("running") })
        .update(toolCallStates, { type: "set", call: callAt("succeeded") }),
    );
    expect(seen).toEqual(["succeeded"]);
    expect(calls()["c1"]?.status).toBe("succeeded");
  });

  it("clears all calls, and then takes the same id anew", () => {
    const { store, calls, log } = fresh();
    store.commit(set(callAt("succeeded")));
    store.commit(command().update(toolCallStates, { type: "clear" }));
    expect(calls()).toEqual({});
    store.commit(set(callAt("running")));
    expect(calls()["c1"]?.status).toBe("running");
    expect(log.errors).toEqual([]);
  });

  it("keeps calls apart, also those with the names of inherited members", () => {
    const { store, calls, log } = fresh();
    for (const id of ["a", "constructor", "toString"]) store.commit(set(callAt("running", { id: toolCallId(id) })));
    store.commit(set(callAt("failed", { id: toolCallId("a") })));
    expect(Object.values(calls()).map((call) => call.status)).toEqual(["failed", "running", "running"]);
    expect(log.errors).toEqual([]);
  });

  it("comes back from the thread's stored state, with a blank message as none", () => {
    const { store } = fresh();
    store.commit(set(callAt("suspended", { suspension: { ...waiting.suspension, message: "  " } })));
    const again = storeOf([toolCallStates]);
    again.restoreThread(JSON.parse(JSON.stringify(store.export("thread"))));
    expect(
      again
        .snapshot()
        .get(toolCallStates)
        ?.calls.find((call) => call.id === "c1")?.suspension,
    ).toEqual({ id: "s1", action: "approve", message: undefined });
  });
});

/** How often the id of a call is looked at when `count` calls come and then change. */
function looksAt(count: number): number {
  let looks = 0;
  const counted = (index: number, status: ToolCallStatus): ToolCallState => {
    const id = toolCallId(`c${index}`);
    return Object.defineProperty(callAt(status), "id", {
      enumerable: true,
      get: () => {
        looks += 1;
        return id;
      },
    });
  };
  const { store } = fresh();
  for (const status of ["running", "succeeded"] as const) {
    for (let index = 0; index < count; index++) store.commit(set(counted(index, status)));
  }
  expect(
    store
      .snapshot()
      .get(toolCallStates)
      ?.calls.map((call) => call.status),
  ).toEqual(Array(count).fill("succeeded"));
  return looks;
}

describe("many calls", () => {
  it("a call of a thousand is found with as few looks as one of ten", () => {
    expect(looksAt(1_000) / 1_000).toBeLessThanOrEqual(looksAt(10) / 10);
  });

  it("each further call costs the same looks, however many there are", () => {
    const [hundred, thousand, more] = [looksAt(100), looksAt(1_000), looksAt(1_900)];
    expect(more - thousand).toBe(thousand - hundred);
    expect((more - thousand) / 900).toBeLessThan(10);
  });
});
