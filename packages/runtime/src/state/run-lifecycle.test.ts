import { RUN_STATUSES, type RunLifecycle, type RunStatus, runId, type Termination, WAITING_REASONS } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { command } from "../phase/command.ts";
import { recordedLog, storeOf } from "../plugin/engine-bench.test-support.ts";
import { type RunLifecycleUpdate, runLifecycle, terminationOf } from "./run-lifecycle.ts";

const id = runId("r1");
const stopped: Termination = { type: "stopped", code: "max-steps", detail: "3 of 3 steps" };

/** The updates that lead to each status, from nothing. */
const PATHS: Record<RunStatus, readonly RunLifecycleUpdate[]> = {
  created: [],
  running: [
    { type: "start", runId: id, at: 1 },
    { type: "step-completed", at: 2 },
  ],
  waiting: [
    { type: "start", runId: id, at: 1 },
    { type: "step-completed", at: 2 },
    { type: "set-waiting", reason: "suspended", at: 3 },
  ],
  done: [
    { type: "start", runId: id, at: 1 },
    { type: "step-completed", at: 2 },
    { type: "done", termination: stopped, at: 3 },
  ],
};

const UPDATES: Record<RunLifecycleUpdate["type"], RunLifecycleUpdate> = {
  start: { type: "start", runId: runId("r2"), at: 9 },
  "step-completed": { type: "step-completed", at: 9 },
  "set-waiting": { type: "set-waiting", reason: "manual-pause", at: 9 },
  "set-running": { type: "set-running", at: 9 },
  done: { type: "done", termination: { type: "natural-end" }, at: 9 },
};

function at(updates: readonly RunLifecycleUpdate[]) {
  const log = recordedLog();
  const store = storeOf([runLifecycle], log);
  for (const update of updates) store.commit(command().update(runLifecycle, update));
  return { log, store, value: () => store.snapshot().get(runLifecycle) };
}

const body = { runId: id, stepCount: 1 };
/** What each update makes of each status; nothing means that it is refused. */
const TABLE: Record<RunStatus, Partial<Record<RunLifecycleUpdate["type"], RunLifecycle>>> = {
  created: {
    start: { runId: runId("r2"), status: "running", stepCount: 0, updatedAt: 9 },
    "step-completed": { ...runLifecycle.initial(), status: "running", stepCount: 1, updatedAt: 9 },
    "set-running": { ...runLifecycle.initial(), status: "running", updatedAt: 9 },
    done: { ...runLifecycle.initial(), status: "done", termination: { type: "natural-end" }, updatedAt: 9 },
  },
  running: {
    start: { runId: runId("r2"), status: "running", stepCount: 0, updatedAt: 9 },
    "step-completed": { ...body, status: "running", stepCount: 2, updatedAt: 9 },
    "set-waiting": { ...body, status: "waiting", waitingReason: "manual-pause", updatedAt: 9 },
    "set-running": { ...body, status: "running", updatedAt: 9 },
    done: { ...body, status: "done", termination: { type: "natural-end" }, updatedAt: 9 },
  },
  waiting: {
    start: { runId: runId("r2"), status: "running", stepCount: 0, updatedAt: 9 },
    "step-completed": { ...body, status: "waiting", waitingReason: "suspended", stepCount: 2, updatedAt: 9 },
    "set-waiting": { ...body, status: "waiting", waitingReason: "manual-pause", updatedAt: 9 },
    "set-running": { ...body, status: "running", updatedAt: 9 },
    done: { ...body, status: "done", termination: { type: "natural-end" }, updatedAt: 9 },
  },
  done: {
    "step-completed": { ...body, status: "done", termination: stopped, stepCount: 2, updatedAt: 9 },
  },
};

describe("runLifecycle", () => {
  for (const from of RUN_STATUSES) {
    for (const [name, update] of Object.entries(UPDATES)) {
      const expected = TABLE[from][update.type];
      it(`${from}: ${name} ${expected === undefined ? "is refused" : `gives ${expected.status}`}`, () => {
        const { store, log, value } = at(PATHS[from]);
        const before = value();
        store.commit(command().update(runLifecycle, update));
        expect(value()).toEqual(expected ?? before);
        expect(log.errors).toHaveLength(expected === undefined ? 1 : 0);
      });
    }
  }

  it("says in the log why it refused", () => {
    const { store, log } = at(PATHS.done);
    store.commit(command().update(runLifecycle, UPDATES.start).update(runLifecycle, UPDATES.done));
    expect(log.errors).toEqual([
      "state key '__runtime.run_lifecycle' ignored an update: a run that is done cannot become running",
      "state key '__runtime.run_lifecycle' ignored an update: the run is done already; the first reason stays",
    ]);
  });

  it("counts the closing step also when a policy has ended the run before (D8)", () => {
    const { store, value } = at(PATHS.done);
    store.commit(command().update(runLifecycle, { type: "step-completed", at: 5 }));
    expect(value()).toMatchObject({ status: "done", stepCount: 2, termination: stopped });
  });

  it("keeps the whole reason, also over a restart (D9)", () => {
    const reasons: Termination[] = [stopped, { type: "error", message: "the model said no", code: "inference_failed" }];
    for (const termination of reasons) {
      const { store } = at([{ type: "start", runId: id, at: 1 }]);
      store.commit(command().update(runLifecycle, { type: "done", termination, at: 2 }));
      const again = storeOf([runLifecycle]);
      again.restore(JSON.parse(JSON.stringify(store.export("run"))), "error");
      expect(terminationOf(again.snapshot().get(runLifecycle))).toEqual(termination);
    }
  });

  it("is not done by being suspended", () => {
    const { store, value, log } = at(PATHS.running);
    store.commit(command().update(runLifecycle, { type: "done", termination: { type: "suspended" }, at: 9 }));
    expect(value()?.status).toBe("running");
    expect(log.errors).toHaveLength(1);
  });
});

describe("terminationOf", () => {
  it("goes on while there is nothing, while it is created or running, and while it waits for tasks", () => {
    expect(terminationOf(undefined)).toBeUndefined();
    expect(terminationOf(runLifecycle.initial())).toBeUndefined();
    expect(terminationOf(at(PATHS.running).value())).toBeUndefined();
    expect(terminationOf({ ...body, status: "waiting", waitingReason: "awaiting-tasks", updatedAt: 1 })).toBeUndefined();
  });

  it("suspends on every other wait", () => {
    for (const waitingReason of WAITING_REASONS.filter((reason) => reason !== "awaiting-tasks")) {
      expect(terminationOf({ ...body, status: "waiting", waitingReason, updatedAt: 1 })).toEqual({ type: "suspended" });
    }
    expect(terminationOf({ ...body, status: "waiting", updatedAt: 1 })).toEqual({ type: "suspended" });
  });

  it("gives the reason of a done run, and an error when there is none", () => {
    expect(terminationOf(at(PATHS.done).value())).toEqual(stopped);
    expect(terminationOf({ ...body, status: "done", updatedAt: 1 })).toMatchObject({ type: "error" });
  });
});
