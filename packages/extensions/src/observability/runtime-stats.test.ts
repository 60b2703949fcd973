import { fakeClock } from "@awaken/runtime/testing";
import { expect, test } from "vitest";
import { batching } from "./batching.ts";
import { DurationSamples } from "./duration-samples.ts";
import type { TelemetryEvent } from "./events.ts";
import { runtimeStats } from "./runtime-stats.ts";

const context = { runId: "r", threadId: "t", agentId: "a", toolDescIds: [], skillIds: [] };
const inference = (durationMs: number, errorType?: "timeout"): TelemetryEvent => ({
  ...{ type: "inference", context, step: 1, model: "m", provider: "p", retries: 0, startedAt: 0, endedAt: durationMs, durationMs },
  usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
  costUsd: 0.5,
  ...(errorType === undefined ? undefined : { errorType }),
});
const tool = (name: string, durationMs: number, errorType?: "tool_error"): TelemetryEvent => ({
  ...{ type: "tool", context, step: 1, name, callId: "c", startedAt: 0, endedAt: durationMs, durationMs },
  ...(errorType === undefined ? undefined : { errorType }),
});

test("extensions 40: Percentiles over two buckets equal percentiles over the merged samples.", async () => {
  const clock = fakeClock(0);
  const stats = runtimeStats(clock);
  const [first, second] = [Array.from({ length: 90 }, (_, index) => index + 1), Array.from({ length: 10 }, (_, index) => 5000 + index)];
  // They do not come in the order of their length.
  for (const ms of first.toReversed()) stats.record(inference(ms));
  await clock.advance(600_000);
  for (const ms of second.toReversed()) stats.record(inference(ms));
  const merged = new DurationSamples();
  for (const ms of [...first, ...second]) merged.add(ms);
  const { inferenceDuration, inferenceCount } = stats.snapshot("a", "20m");
  expect(inferenceCount).toBe(100);
  expect(inferenceDuration).toEqual(DurationSamples.summarize([merged]));
  expect(inferenceDuration).toMatchObject({ p50Ms: 50, p95Ms: 5004, p99Ms: 5008, minMs: 1, maxMs: 5009 });
  expect(inferenceDuration.histogram).toEqual([10, 15, 25, 40, 0, 0, 0, 0, 1, 9, 0]);
});

test("windows are whole buckets, at most a day, and what is older is gone", async () => {
  const clock = fakeClock(0);
  const stats = runtimeStats(clock);
  stats.record(inference(5, "timeout"));
  stats.record(tool("b", 10));
  stats.record(tool("a", 30, "tool_error"));
  stats.record({ type: "suspension", context, at: 0, toolCallId: "c", toolName: "n", action: "suspended" });
  const day = stats.snapshot("a");
  expect(day).toMatchObject({
    windowSeconds: 86_400,
    bucketCount: 144,
    inferenceCount: 1,
    errorCount: 1,
    inputTokens: 10,
    costUsd: 0.5,
    suspensions: 1,
  });
  expect(day.toolCallsByTool).toMatchObject([
    { tool: "a", callCount: 1, failureCount: 1, totalMs: 30 },
    { tool: "b", callCount: 1, failureCount: 0 },
  ]);
  for (const [window, seconds] of [
    ["90s", 600],
    ["1h", 3600],
    ["7d", 86_400],
    [601, 1200],
    ["600", 600],
  ] as const) {
    expect(stats.snapshot("a", window).windowSeconds).toBe(seconds);
  }
  for (const bad of ["", "x", "-1h", "0", "1y"]) expect(() => stats.snapshot("a", bad)).toThrow("is no window");
  await clock.advance(600_000);
  expect(stats.snapshot("a", "10m").inferenceCount).toBe(0);
  expect(stats.snapshot("a", "20m").inferenceCount).toBe(1);
  await clock.advance(86_400_000);
  expect(stats.snapshot("a").inferenceCount).toBe(0);
  expect(stats.agents()).toEqual(["a"]);
  expect(stats.snapshot("nobody")).toMatchObject({ inferenceCount: 0, inferenceDuration: { avgMs: 0, minMs: 0, p50Ms: 0 } });
});

test("batches are sent when they are full or have waited; when too many wait, the newest are dropped and counted", async () => {
  const clock = fakeClock(0);
  const sent: number[] = [];
  const lost: string[] = [];
  let door = Promise.resolve();
  const sink = batching({
    clock,
    batchSize: 3,
    intervalMs: 100,
    capacity: 5,
    send: async (events) => {
      await door;
      sent.push(events.length);
      if (sent.length === 2) throw new Error("away");
    },
  });
  await sink.open?.({ log: { warn() {}, error: (message) => lost.push(message) } });
  sink.record(inference(1));
  await clock.advance(100);
  expect(sent).toEqual([1]);
  const held = Promise.withResolvers<void>();
  door = held.promise;
  for (let count = 0; count < 7; count++) sink.record(inference(1));
  expect(sink.dropped).toBe(2);
  held.resolve();
  await sink.flush?.();
  expect(sent).toEqual([1, 3, 2]);
  expect(lost).toEqual(["telemetry sink 'batching' lost 3 events: away"]);
  expect(clock.pendingTimers).toBe(0);
});

test("what comes in the moment in which a batch is through is sent, also by the flush at the end", async () => {
  for (let moments = 0; moments < 12; moments++) {
    let sent = 0;
    const send = async (events: readonly TelemetryEvent[]) => {
      sent += events.length;
    };
    const sink = batching({ clock: fakeClock(0), batchSize: 1, send });
    sink.record(inference(1));
    for (let moment = 0; moment < moments; moment++) await Promise.resolve();
    sink.record(inference(1));
    await sink.shutdown?.();
    expect([moments, sent]).toEqual([moments, 2]);
  }
});
