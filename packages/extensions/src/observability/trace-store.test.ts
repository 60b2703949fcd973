import { appendFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fakeClock, text, toolCall } from "@awaken/runtime/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { RunEvent, TelemetryEvent } from "./events.ts";
import { openWatched } from "./harness.test-support.ts";
import { fnv1a64, isSampled } from "./sampling.ts";
import { traceStore } from "./trace-store.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "awaken-traces-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const NOVEMBER = Date.UTC(2026, 10, 15);
const contextOf = (runId: string, agentId = "a") => ({ runId, threadId: "t", agentId, toolDescIds: [], skillIds: [] });
const times = { startedAt: NOVEMBER, endedAt: NOVEMBER + 5, durationMs: 5 };
const ran = (runId: string, agentId?: string): RunEvent => ({
  ...{ type: "run", context: contextOf(runId, agentId), outcome: "done", inferences: 1, tools: 0, toolFailures: 0 },
  usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  ...times,
});
const tool = (runId: string, errorType?: "tool_error"): TelemetryEvent => ({
  ...{ type: "tool", context: contextOf(runId), step: 1, name: "n", callId: "c" },
  ...(errorType === undefined ? undefined : { errorType }),
  ...times,
});

describe("trace store", () => {
  test("extensions 38: FNV-1a vectors match; a run with a tool error is always stored; a marked run survives retention.", async () => {
    expect(["", "a", "foobar"].map((each) => fnv1a64(each).toString(16))).toEqual([
      "cbf29ce484222325",
      "af63dc4c8601ec8c",
      "85944171f73967e8",
    ]);
    expect(isSampled("a", 0)).toBe(false);
    expect(isSampled("a", Number(fnv1a64("a")) / 2 ** 64 + 0.01)).toBe(true);
    const clock = fakeClock(NOVEMBER);
    const traces = traceStore({ root, sample: 0, clock });
    const verdict = { type: "evaluation-result", context: contextOf("bad"), at: 1, name: "judge", scoreValue: 0.2 } as const;
    for (const event of [tool("ok"), ran("ok"), tool("err", "tool_error"), ran("err"), tool("bad"), verdict, ran("bad")])
      traces.record(event);
    for (const event of [tool("err2", "tool_error"), ran("err2")]) traces.record(event);
    await traces.flush?.();
    expect((await traces.list()).map(({ runId, finalStatus }) => [runId, finalStatus]).sort()).toEqual([
      ["bad", "ok"],
      ["err", "error"],
      ["err2", "error"],
    ]);
    await traces.mark("err", "pinned");
    await traces.mark("err", "pinned");
    await clock.advance(8 * 86_400_000);
    await traces.flush?.();
    await traces.sweep();
    expect((await traces.list()).map(({ runId }) => runId)).toEqual(["err"]);
    await expect(traces.mark("nobody", "dataset")).rejects.toMatchObject({ code: "run_not_found" });
  });

  test("extensions 39: A trace with a half-written last line is readable; a corrupt full line is an error.", async () => {
    const traces = traceStore({ root, clock: fakeClock(NOVEMBER) });
    traces.record(ran("r"));
    await traces.flush?.();
    const file = join(root, "2026-11", "r.ndjson");
    appendFileSync(file, '{"type":"to');
    expect((await traces.load("r"))?.events).toHaveLength(1);
    // The month stays that of the first event, and the half line does not spoil the next one.
    const later = traceStore({ root, clock: fakeClock(Date.UTC(2026, 11, 2)) });
    later.record({ ...ran("r"), startedAt: Date.UTC(2026, 11, 2) });
    await later.flush?.();
    expect((await traces.load("r"))?.events).toHaveLength(2);
    expect((await traces.list())[0]).toMatchObject({ runId: "r", events: 2, startedAt: NOVEMBER });
    expect(readdirSync(root)).toEqual(["2026-11"]);
    appendFileSync(file, "{oops\n");
    await expect(traces.load("r")).rejects.toMatchObject({ code: "storage_corrupt", message: expect.stringContaining("line 3") });
  });

  test("ids that are paths are refused, lists are filtered, and a run with too much is dropped whole", async () => {
    const traces = traceStore({ root, clock: fakeClock(NOVEMBER) });
    for (const id of ["../x", "a/b", "a\\b", ".", "..", "a\0b", ""])
      await expect(traces.load(id)).rejects.toMatchObject({ code: "invalid_id" });
    for (const [runId, agentId] of [
      ["1", "a"],
      ["2", "b"],
    ] as const)
      traces.record(ran(runId, agentId));
    for (let count = 0; count < 10_001; count++) traces.record(tool("big"));
    traces.record(ran("big"));
    await traces.flush?.();
    expect((await traces.list()).map(({ runId }) => runId).sort()).toEqual(["1", "2"]);
    expect((await traces.list({ agentId: "b" })).map(({ runId }) => runId)).toEqual(["2"]);
    expect(await traces.list({ since: NOVEMBER + 1 })).toEqual([]);
    expect(await traces.list({ limit: 1 })).toHaveLength(1);
    expect(await traces.load("nobody")).toBeUndefined();
    traces.record(ran("../evil"));
    await expect(traces.flush?.()).rejects.toMatchObject({ code: "invalid_id" });
  });

  test("a trace whose index was not written, or is broken, is listed, counted and swept by its events", async () => {
    const traces = traceStore({ root, clock: fakeClock(NOVEMBER), ttlMs: 0 });
    for (const runId of ["gone", "broken", "half"]) {
      traces.record(tool(runId, "tool_error"));
      traces.record(ran(runId));
    }
    await traces.flush?.();
    rmSync(join(root, "2026-11", "gone.idx.json"));
    for (const runId of ["broken", "half"]) writeFileSync(join(root, "2026-11", `${runId}.idx.json`), '{"runId":');
    writeFileSync(join(root, "2026-11", "half.ndjson"), "{oops\n");
    const listed = await traces.list({ agentId: "a" });
    expect(listed.map(({ runId }) => runId).sort()).toEqual(["broken", "gone"]);
    expect(listed).toMatchObject([
      { events: 2, finalStatus: "error", startedAt: NOVEMBER, threadId: "t" },
      { events: 2, finalStatus: "error", startedAt: NOVEMBER, threadId: "t" },
    ]);
    traces.record(ran("gone"));
    await traces.flush?.();
    expect((await traces.load("gone"))?.summary).toMatchObject({ events: 3, finalStatus: "error", startedAt: NOVEMBER });
  });

  test("a trace that cannot be written is said at once, and to whoever flushes", async () => {
    writeFileSync(join(root, "file"), "");
    const errors: string[] = [];
    const traces = traceStore({ root: join(root, "file"), clock: fakeClock(NOVEMBER) });
    await traces.open?.({ log: { warn() {}, error: (line) => errors.push(line) } });
    traces.record(ran("r"));
    await vi.waitFor(() => expect(errors).toEqual([expect.stringContaining("telemetry sink 'traceStore' lost a trace: ENOTDIR")]));
    await expect(traces.flush?.()).rejects.toThrow("ENOTDIR");
    await traces.shutdown?.();
  });

  test("a run of a runtime is in it when the runtime is closed", async () => {
    const traces = traceStore({ root });
    const { runtime } = openWatched([toolCall("weather", { city: "Oslo" }), text("done")], [traces]);
    const { runId } = await runtime.run({ agent: "assistant", input: "go" });
    await runtime.close();
    expect((await traces.load(runId))?.events.map(({ type }) => type)).toEqual(["inference", "tool", "inference", "run"]);
  });
});
