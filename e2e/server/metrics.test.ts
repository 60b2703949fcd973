import { observability, prometheus } from "@awaken/extensions/observability";
import { failure, text } from "@awaken/runtime/testing";
import type { AwakenServer } from "@awaken/server";
import { Registry } from "prom-client";
import { afterAll, describe, expect, test, vi } from "vitest";
import { ENGINES, openShared, stopServer } from "../relay/support/nodes.ts";
import { openNode, speaker } from "../relay/support/speaker.ts";
import { ask, openServer, readFrames, request } from "./support/client.ts";

afterAll(stopServer);

const said = (words: string, threadId: string) => ({ agentId: "assistant", threadId, messages: [{ role: "user", content: words }] });

const run = async (server: AwakenServer, words: string, thread: string) =>
  readFrames(await server.fetch(request("POST", "/v1/runs", { body: said(words, thread) })));

/** Lines of `/metrics` as numbers by what is before them. */
async function scrape(server: AwakenServer): Promise<ReadonlyMap<string, number>> {
  const text = await (await server.fetch(request("GET", "/metrics"))).text();
  return new Map(
    text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );
}

const runsOf = (metrics: ReadonlyMap<string, number>) =>
  Object.fromEntries(
    [...metrics].flatMap(([name, count]) => {
      const outcome = /^awaken_runs_total\{outcome="(\w+)"\}$/.exec(name)?.[1];
      return outcome === undefined ? [] : [[outcome, count]];
    }),
  );

const DISPATCH = ["enqueue_to_start", "eligible_to_start", "claim_to_start", "enqueue_to_complete", "runtime"];

describe.each(ENGINES)("metrics of runs and their queue on %s", (engine) => {
  test("each run that ends is counted once, by how it ended; one that waits is not over", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    const server = openServer({ runtime, metrics: true });
    await run(server, "look say", "t1");
    await run(server, "say", "t1");
    await run(server, "approve say", "t2");
    expect(runsOf(await scrape(server))).toEqual({ completed: 2 });
    // A run that waits, and nobody executes.
    expect((await ask(server, "POST", "/v1/threads/t2/cancel")).status).toBe(202);
    await vi.waitFor(async () => expect(runsOf(await scrape(server))).toEqual({ completed: 2, cancelled: 1 }));
    const metrics = await scrape(server);
    expect(metrics.get('awaken_run_duration_seconds_count{outcome="completed"}')).toBe(2);
    expect([...metrics.keys()].filter((name) => name.startsWith("awaken_errors_total{"))).toEqual([]);
    await server.close();
  });

  test("one that fails is counted with its class", async () => {
    await using shared = await openShared(engine);
    const providers = { house: speaker(() => failure("unauthorized")) };
    await using runtime = openNode(shared.stores[0], { providers });
    const server = openServer({ runtime, metrics: true });
    await run(server, "say", "t");
    const metrics = await scrape(server);
    expect(runsOf(metrics)).toEqual({ permanent_error: 1 });
    expect([...metrics].filter(([name]) => name.startsWith("awaken_errors_total{")).map(([, count]) => count)).toEqual([1]);
    await server.close();
  });

  test("what comes out of the queue is timed from the queue to its end, and what the store was asked for is counted", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0], { workers: true });
    const server = openServer({ runtime, metrics: true });
    const started = await ask(server, "POST", "/v1/runs/start", { body: said("say", "queued") });
    expect((await ask(server, "GET", `/v1/runs/${String(started.body["runId"])}/result?timeoutMs=20000`)).body).toMatchObject({
      status: "done",
    });
    await vi.waitFor(async () => {
      const metrics = await scrape(server);
      for (const name of DISPATCH) expect(metrics.get(`awaken_mailbox_dispatch_${name}_seconds_count`), name).toBe(1);
      expect(metrics.get("awaken_mailbox_dispatch_signal_pulled_total")).toBe(1);
      expect(metrics.get("awaken_mailbox_dispatch_signal_ack_total")).toBe(1);
      expect(metrics.get("awaken_mailbox_dispatch_signal_nack_total")).toBe(0);
      expect(metrics.get("awaken_mailbox_dispatch_signal_redelivery_total")).toBe(0);
      expect(metrics.get('awaken_mailbox_operations_total{operation="claim_a_dispatch",result="ok"}')).toBeGreaterThan(0);
      expect(metrics.get('awaken_mailbox_operation_duration_seconds_count{operation="claim_a_dispatch"}')).toBeGreaterThan(0);
      expect(runsOf(metrics)).toEqual({ completed: 1 });
    });
    await server.close();
  });

  test("an attempt that is made again is a transient error, and what nobody can bring to an end a dead letter; each is counted once", async () => {
    await using shared = await openShared(engine);
    const turns = [failure("rate-limited"), text("Better."), failure("unauthorized")];
    const providers = { house: speaker(() => turns.shift() ?? expect.fail("asked too often")) };
    const agents = { assistant: { model: "fast", sections: { retry: { maxRetries: 0, maxStreamRetries: 0 } } } };
    await using runtime = openNode(shared.stores[0], { providers, workers: true, agents });
    const server = openServer({ runtime, metrics: true });
    for (const thread of ["again", "dead"]) {
      const { body } = await ask(server, "POST", "/v1/runs/start", { body: said("say", thread) });
      await ask(server, "GET", `/v1/runs/${String(body["runId"])}/result?timeoutMs=20000`);
    }
    await vi.waitFor(async () => {
      const metrics = await scrape(server);
      expect(runsOf(metrics)).toEqual({ transient_error: 1, completed: 1, dead_letter: 1 });
      expect(metrics.get("awaken_mailbox_dispatch_signal_pulled_total")).toBe(3);
      expect(metrics.get("awaken_mailbox_dispatch_signal_redelivery_total")).toBe(1);
    });
    await server.close();
  });

  test("runs that an interrupt voids in the queue are superseded", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0], { workers: false });
    const server = openServer({ runtime, metrics: true });
    for (const words of ["say", "look"]) await ask(server, "POST", "/v1/runs/start", { body: said(words, "t") });
    expect((await ask(server, "POST", "/v1/threads/t/interrupt")).body).toMatchObject({ superseded: 2 });
    expect(runsOf(await scrape(server))).toEqual({ superseded: 2 });
    await server.close();
  });
});

test("server-and-durability 72: what is counted of inferences, runs and the queue shares one registry, and has no id of a thread or a run", async () => {
  await using shared = await openShared("sqlite");
  const register = new Registry();
  const watching = observability({ sinks: [prometheus({ register })] });
  await using runtime = openNode(shared.stores[0], {
    plugins: [watching],
    agents: { assistant: { model: "fast", plugins: [watching.id] } },
  });
  const server = openServer({ runtime, metrics: register });
  const response = await server.fetch(request("POST", "/v1/runs", { body: said("look say", "a-thread-of-mine") }));
  const runId = response.headers.get("x-run-id") ?? expect.fail("no run");
  await readFrames(response);
  await vi.waitFor(async () => {
    const text = await (await server.fetch(request("GET", "/metrics"))).text();
    expect(text).toMatch(/^awaken_inference_requests_total\{.*status="ok"\} 2$/m);
    expect(text).toContain('awaken_runs_total{outcome="completed"} 1');
    expect(text).not.toContain("a-thread-of-mine");
    expect(text).not.toContain(runId);
  });
  await server.close();
});

test("without metrics nothing is watched; a server that is closed watches no more", async () => {
  await using shared = await openShared("sqlite");
  await using runtime = openNode(shared.stores[0]);
  const watch = vi.fn(runtime.watch);
  openServer({ runtime: { ...runtime, watch } });
  expect(watch).not.toHaveBeenCalled();
  const register = new Registry();
  const server = openServer({ runtime: { ...runtime, watch }, metrics: register });
  await run(server, "say", "t");
  await server.close();
  const before = await register.metrics();
  expect(before).toContain('awaken_runs_total{outcome="completed"} 1');
  await runtime.run({ agent: "assistant", thread: "t", input: "say" });
  expect(await register.metrics()).toContain('awaken_runs_total{outcome="completed"} 1');
});
