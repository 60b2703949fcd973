import { runId, threadId } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import { createRuntime } from "../create-runtime.ts";
import { ActiveRun, ActiveRuns } from "./active-runs.ts";

const thread = threadId("thread-1");
const handle = (id = "run-1") => new ActiveRun(thread, runId(id));

describe("seed 002", () => {
  it("seed 002: new_creates_runtime", () => {
    const runtime = createRuntime({});
    expect(runtime.store).toBeUndefined();
    expect([runtime.registry.version, runtime.resolver.agentIds()]).toEqual([1, []]);
  });

  it("seed 002: resolver_returns_ref", () => {
    const { resolver } = createRuntime({});
    expect(() => resolver.open().resolve("any")).toThrow(
      expect.objectContaining({ code: "agent_not_found", message: "agent not found: any" }),
    );
  });

  it("seed 002: resolver_arc_returns_clone", async () => {
    const runtime = createRuntime({});
    const { resolver } = runtime;
    expect(() => resolver.open().resolve("x")).toThrow(expect.objectContaining({ code: "agent_not_found" }));
    await expect(runtime.run({ agent: "x", input: "hi" })).rejects.toMatchObject({ code: "agent_not_found" });
  });

  it("seed 002: with_thread_run_store_sets_store", () => {
    const store = memoryStore();
    expect(createRuntime({ store }).store).toBe(store);
  });

  it("seed 002: thread_run_store_none_by_default", () => {
    expect(createRuntime({}).store).toBeUndefined();
  });

  it("seed 002: create_run_channels_returns_triple", () => {
    const run = handle();
    expect([run.runId, run.controller.signal.aborted, run.inbox.size, run.inbox.isClosed]).toEqual(["run-1", false, 0, false]);
  });

  it("seed 002: register_run_succeeds", () => {
    const runs = new ActiveRuns();
    expect(runs.claim(thread, runId("run-1"))).toMatchObject({ runId: "run-1", threadId: "thread-1" });
    expect(runs.size).toBe(1);
  });

  it("seed 002: register_run_fails_for_same_thread", () => {
    const runs = new ActiveRuns();
    const first = runs.claim(thread, runId("run-1"));
    expect(() => runs.claim(thread, runId("run-2"))).toThrow(
      expect.objectContaining({ code: "thread_already_running", details: { threadId: "thread-1" } }),
    );
    expect([runs.onThread("thread-1"), runs.byRun("run-2")]).toEqual([first, undefined]);
  });

  it("seed 002: unregister_run_allows_reregistration", () => {
    const runs = new ActiveRuns();
    runs.release(runs.claim(thread, runId("run-1")));
    expect(runs.claim(thread, runId("run-2")).runId).toBe("run-2");
  });

  it("seed 002: run_handle_cancel", () => {
    const run = handle();
    run.cancel();
    run.cancel("again");
    expect(run.controller.signal.aborted).toBe(true);
    expect(run.controller.signal.reason).toMatchObject({ code: "cancelled", message: "the run was cancelled" });
  });
});

describe("active runs", () => {
  it("registry-and-runtime 40: a claim with an active run id takes nothing of the other thread", () => {
    const runs = new ActiveRuns();
    runs.claim(thread, runId("r"));
    expect(() => runs.claim(threadId("other"), runId("r"))).toThrow(expect.objectContaining({ code: "thread_already_running" }));
    expect([runs.onThread("other"), runs.size]).toEqual([undefined, 1]);
  });

  it("a run that ended reads nothing any more, and whoever waited for it goes on", async () => {
    const runs = new ActiveRuns();
    const run = runs.claim(thread, runId("r"));
    const waited = Promise.all([run.prepared, run.released]);
    runs.release(run);
    await waited;
    await Promise.all([run.prepared, run.released]);
    expect(run.ctx).toBeUndefined();
    expect(run.inbox.push({ type: "wake" })).toBe(false);
  });

  it("a late release of an old run does not free a newer one", () => {
    const runs = new ActiveRuns();
    const old = runs.claim(thread, runId("r"));
    runs.release(old);
    const next = runs.claim(thread, runId("r"));
    runs.release(old);
    expect([runs.onThread("thread-1"), runs.byRun("r")]).toEqual([next, next]);
  });

  it("a claim that turns out to be for a known run is found under both ids, and leaves nothing behind", () => {
    const runs = new ActiveRuns();
    const run = runs.claim(thread, runId("new"));
    runs.adopt(run, runId("known"));
    expect([run.runId, runs.byRun("new"), runs.byRun("known")]).toEqual(["known", run, run]);
    const other = runs.claim(threadId("t2"), runId("other"));
    expect(() => runs.adopt(other, runId("known"))).toThrow(expect.objectContaining({ code: "thread_already_running" }));
    runs.release(run);
    runs.release(other);
    expect([runs.size, runs.byRun("new"), runs.byRun("known"), runs.byRun("other")]).toEqual([0, undefined, undefined, undefined]);
  });
});
