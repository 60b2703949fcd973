import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, it, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { crashPoints } from "../testing/crash-points.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptedProvider, scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";

const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("pay?"), execute: () => "paid" });
const look = defineTool({ id: "look", description: "", input: z.object({}), pure: true, execute: () => "seen" });

const ends = definePlugin({
  id: "ends",
  register: (r) =>
    r.hook("stepEnd", () => command().update(runLifecycle, { type: "done", termination: { type: "behavior-requested" }, at: 5 })),
});

const open = (model: ScriptedProvider, store: Store, init: Partial<RuntimeInit> = {}) =>
  createRuntime({
    providers: { scripted: model },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { default: { model: "fast" } },
    tools: [pay, look],
    log: { warn() {}, error() {} },
    store,
    ...init,
  });

const total = z.object({ total: z.number().int().min(1), note: z.string().optional() });
const [fits, wrong, worse] = [text('{"total":3}'), text('{"total":0}'), text('{"total":"three"}')];

describe.each([
  ["memory", memoryStore],
  ["SQLite", () => sqliteStore(":memory:")],
])("typed output in another process, with %s", (_, openStore) => {
  test("core-execution 92: after a decision it is checked against the stored schema, and asked for again with what is wrong", async () => {
    const store = openStore();
    const first = await open(scripted([toolCall("pay", {})]), store).run({ thread: "t", input: "go", output: total });
    const model = scripted([wrong, worse, fits]);
    const other = open(model, store);
    await other.decide(ticketsOf(first)[0]?.id ?? "", { action: "approve" });
    expect(await other.wait(first.runId)).toMatchObject({ status: "done", output: { total: 3 } });
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("total: must be at least 1");
    expect(JSON.stringify(model.requests[2]?.messages.at(-1))).toContain("total: must be integer, got string");
    model.assertDone();
  });

  test("core-execution 92: after a crash and a resume it is checked against the stored schema", async () => {
    const store = openStore();
    const points = crashPoints({ at: "commit-end", nth: 2, mode: "throw" });
    const dying = open(scripted([toolCall("look", {}), fits]), points.commits(store, "commit", "transaction"));
    const died = await dying.run({ thread: "t", input: "go", output: total });
    expect(await store.runs.load(died.runId)).toMatchObject({ status: "running" });
    const model = scripted([wrong, fits]);
    expect(await open(model, store).resume(died.runId)).toMatchObject({ status: "done", output: { total: 3 } });
    model.assertDone();
  });

  test("core-execution 92: it is asked for again twice, then the run fails, also when another process began to ask", async () => {
    const store = openStore();
    const first = await open(scripted([wrong, toolCall("pay", {})]), store).run({ thread: "t", input: "go", output: total });
    const model = scripted([wrong, wrong, fits]);
    const other = open(model, store);
    await other.decide(ticketsOf(first)[0]?.id ?? "", { action: "approve" });
    const failed = await other.wait(first.runId);
    expect(failed).toMatchObject({
      status: "failed",
      steps: 4,
      error: {
        code: "output_invalid",
        message: "the answer does not fit the required schema, after it was asked for again 2 times: total: must be at least 1",
      },
    });
    expect(await open(scripted([]), store).wait(first.runId)).toEqual(failed);
    expect(model.requests).toHaveLength(2);
  });

  test("core-execution 92: the limit is that of the request, and goes with the record", async () => {
    const store = openStore();
    const none = await open(scripted([wrong]), store).run({ thread: "a", input: "go", output: total, outputRetries: 0 });
    expect(none).toMatchObject({
      status: "failed",
      steps: 1,
      error: { code: "output_invalid", message: expect.stringMatching(/schema: total/) },
    });
    const first = await open(scripted([toolCall("pay", {})]), store).run({ thread: "b", input: "go", output: total, outputRetries: 1 });
    const other = open(scripted([wrong, wrong]), store);
    await other.decide(ticketsOf(first)[0]?.id ?? "", { action: "approve" });
    expect(await other.wait(first.runId)).toMatchObject({ status: "failed", steps: 3, error: { code: "output_invalid" } });
  });
});

test("core-execution 92: where the schema itself is at hand, it checks what its JSON Schema cannot say", async () => {
  const even = total.refine(({ total: sum }) => sum % 2 === 0, "must be even");
  const runtime = open(scripted([toolCall("pay", {}), text('{"total":3}'), text('{"total":4}')]), memoryStore());
  const first = await runtime.run({ thread: "t", input: "go", output: even });
  await runtime.decide(ticketsOf(first)[0]?.id ?? "", { action: "approve" });
  expect(await runtime.wait(first.runId)).toMatchObject({ status: "done", output: { total: 4 }, steps: 3 });
});

describe("a run that a plugin ends", () => {
  const init = { plugins: [ends], agents: { default: { model: "fast", plugins: ["ends"] } } };

  it("is done with what was said, when that fits", async () => {
    const result = await open(scripted([fits]), memoryStore(), init).run({ input: "go", output: total });
    expect(result).toMatchObject({ status: "done", output: { total: 3 }, termination: { type: "behavior-requested" } });
  });

  it("failed, when there is no answer that fits", async () => {
    const store = memoryStore();
    const result = await open(scripted([wrong]), store, init).run({ input: "go", output: total });
    expect(result).toMatchObject({ status: "failed", error: { code: "output_invalid" }, termination: { type: "behavior-requested" } });
    expect(await open(scripted([]), store).wait(result.runId)).toEqual(result);
  });
});

it.each([-1, 1.5, null, "2"])("outputRetries of %s is refused", async (outputRetries) => {
  const request = { input: "go", output: total, ...JSON.parse(JSON.stringify({ outputRetries })) };
  await expect(open(scripted([]), memoryStore()).run(request)).rejects.toMatchObject({ code: "invalid_activation" });
});
