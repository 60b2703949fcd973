import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type InferenceRequest, type RunId, runId, threadId } from "@awaken/contract";
import { defineTool } from "@awaken/runtime";
import { fakeClock, type ScriptStep, text, toolCall } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { afterEach, expect, test, vi } from "vitest";
import * as z from "zod";
import { textPart } from "./a2a.test-support.ts";
import { Harness, until } from "./harness.test-support.ts";

const harness = new Harness();
const folders: string[] = [];
afterEach(async () => {
  await harness.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "awaken-a2a-"));
  folders.push(folder);
  return join(folder, "awaken.db");
}

/** Takes the task, and brings it to its end when it may. */
const answeringAfter = (gate: Promise<void>): Parameters<typeof harness.agent>[0] => ({
  async act(turn) {
    turn.accept();
    turn.status("TASK_STATE_WORKING");
    await gate;
    turn.status("TASK_STATE_COMPLETED", "by law, yes");
  },
});

test("multi-agent 26: a process that dies after acceptance leaves a running run with the task id; whoever takes it up finds the task and sends nothing again", async () => {
  const gate = Promise.withResolvers<void>();
  const far = await harness.agent({
    async act(turn) {
      turn.accept();
      turn.status("TASK_STATE_WORKING");
      await gate.promise;
      turn.artifact("answer", [textPart("by law, yes")]);
      turn.status("TASK_STATE_COMPLETED");
    },
  });
  const file = newFile();
  const program = join(import.meta.dirname, "remote-program.test-support.ts");
  const child = spawn(process.execPath, ["--conditions=awaken-source", program, file, far.url], { stdio: ["ignore", "pipe", "inherit"] });
  const [line]: unknown[] = await once(child.stdout, "data");
  const id: RunId = runId(String(line).trim());
  // It follows the task: what it kept is on record.
  await until(() => far.seen.length === 2);
  expect(far.turns).toHaveLength(1);
  child.kill("SIGKILL");
  await once(child, "exit");

  const store = sqliteStore(file);
  expect(await store.runs.load(id)).toMatchObject({ status: "running", agentId: "far" });
  const head = await store.threads.loadHead(threadId("t"));
  const [turn] = far.turns;
  expect(head?.state?.extensions["__runtime.remote_backend"]).toMatchObject({
    targets: { [`a2a:${far.url}`]: { taskId: turn?.taskId, contextId: "t", runId: id } },
  });

  const { runtime } = harness.open(far.url, { init: { store, workers: false } });
  const taken = vi.waitFor(() => runtime.resume(id), { timeout: 120_000, interval: 50 });
  await until(() => far.seen.length === 3);
  gate.resolve();
  expect(await taken).toMatchObject({ status: "done", text: "by law, yes", runId: id });
  expect(far.turns).toHaveLength(1);
  expect(far.seen.map(({ path }) => path.replace(turn?.taskId ?? "", "<task>"))).toEqual([
    "/message:send",
    "/tasks/<task>:subscribe",
    "/tasks/<task>:subscribe",
  ]);
  await until(() => far.sockets.size === 0);
  await harness.close();
  await store.close();
});

test("a process that lost its run to another one does not cancel the task that the other one follows", async () => {
  const gate = Promise.withResolvers<void>();
  const far = await harness.agent(answeringAfter(gate.promise));
  const file = newFile();
  const stores = [sqliteStore(file), sqliteStore(file)] as const;
  // It stands still, so that its lease runs out as that of a process that was stopped.
  const clock = fakeClock(Date.now());
  const first = harness.open(far.url, { init: { store: stores[0], workers: false, clock, leaseMs: 200 } });
  const second = harness.open(far.url, { init: { store: stores[1], workers: false } });
  const run = first.runtime.stream({ agent: "far", thread: "t", input: "may I?" });
  await until(() => far.seen.length === 2);
  const taken = vi.waitFor(() => second.runtime.resume(run.id), { timeout: 120_000, interval: 50 });
  await until(() => far.seen.length === 3);
  const lost = run.result.then(
    () => "over",
    () => "over",
  );
  while ((await Promise.race([lost, clock.advance(200)])) !== "over") await new Promise((resolve) => setTimeout(resolve, 5));
  gate.resolve();
  expect(await taken).toMatchObject({ status: "done", text: "by law, yes", runId: run.id });
  expect(far.cancelled).toEqual([]);
  expect(far.seen.filter(({ path }) => path.endsWith(":cancel"))).toEqual([]);
  await until(() => far.sockets.size === 0);
  await harness.close();
  for (const store of stores) await store.close();
});

test("a run that has to be out of its process leaves the task as it is, and whoever goes on follows it", async () => {
  const gate = Promise.withResolvers<void>();
  const far = await harness.agent(answeringAfter(gate.promise));
  const store = memoryStore();
  const clock = fakeClock(1);
  const first = harness.open(far.url, { init: { store, clock, yieldBefore: 10_000, workers: true } });
  const { runId: id } = await first.runtime.start({ agent: "far", thread: "t", input: "may I?" });
  await until(() => far.seen.length === 2);
  await clock.advance(10_000);
  await until(() => far.sockets.size === 0);
  const second = harness.open(far.url, { init: { store, workers: true } });
  const over = second.runtime.wait(id);
  await until(() => far.seen.length === 3);
  gate.resolve();
  expect(await over).toMatchObject({ status: "done", text: "by law, yes", runId: id });
  expect(far.turns).toHaveLength(1);
  expect(far.cancelled).toEqual([]);
  expect(await store.dispatches.list(threadId("t"), { statuses: ["dead-letter"] })).toEqual([]);
  await harness.close();
});

test("one that is sent out in the background is a run of its own: it is left and followed like any other, and its owner reads the answer once", async () => {
  const gate = Promise.withResolvers<void>();
  const far = await harness.agent(answeringAfter(gate.promise));
  const store = memoryStore();
  const clock = fakeClock(1);
  const sendOut = defineTool({
    id: "send_out",
    description: "",
    input: z.object({}),
    idempotent: true,
    execute: async (_, { tasks }) => tasks.spawnAgent({ agent: "far", input: "may I?" }),
  });
  const news = ({ messages }: InferenceRequest) => messages.flatMap(({ metadata }) => metadata?.task ?? []);
  const turns: readonly ScriptStep[] = new Array<ScriptStep>(5).fill((request) =>
    request.messages.some(({ role }) => role === "tool") ? text(JSON.stringify(news(request))) : toolCall("send_out", {}),
  );
  const first = harness.open(far.url, { init: { store, clock, yieldBefore: 10_000, workers: true, tools: [sendOut] }, turns });
  const { runId: id } = await first.runtime.run({ agent: "lead", thread: "t", input: "go" });
  await until(() => far.seen.length === 2);
  await clock.advance(10_000);
  await until(() => far.sockets.size === 0);
  const second = harness.open(far.url, { init: { store, workers: true, tools: [sendOut] }, turns });
  await second.runtime.recover();
  await until(() => far.seen.length === 3);
  gate.resolve();
  await expect.poll(async () => (await store.runs.load(id))?.status).toBe("done");
  const read: unknown = JSON.parse((await second.runtime.wait(id)).text);
  expect(read).toEqual([{ kind: "completed", taskId: "bg_0", result: { agent: "far", response: "by law, yes" } }]);
  expect(far.turns).toHaveLength(1);
  expect(far.cancelled).toEqual([]);
});
