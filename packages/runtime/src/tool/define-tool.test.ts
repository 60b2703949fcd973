import type { ToolResult } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { command } from "../phase/command.ts";
import { counter, sceneOf, storeOf, thrownBy } from "../plugin/engine-bench.test-support.ts";
import { defineTool } from "./define-tool.ts";
import { fail, reply, wait } from "./reply.ts";
import type { PreparedCall, Tool, ToolContext } from "./tool.ts";
import { ask, block } from "./verdict.ts";

const scene = { ...sceneOf(), state: storeOf([]).snapshot() };
const context: ToolContext = {
  ...scene,
  callId: "c1",
  toolName: "t",
  idempotencyKey: "k1",
  resume: undefined,
  runAgent: () => Promise.reject(new Error("no agent here")),
  sendMessage: () => Promise.reject(new Error("nobody here")),
  get tasks(): never {
    throw new Error("no tasks here");
  },
  progress: () => {},
  activity: () => {},
  output: () => {},
};

async function prepared(tool: Tool, input: Parameters<Tool["prepare"]>[0]): Promise<PreparedCall> {
  const checked = await tool.prepare(input);
  if (checked.type === "invalid") throw new Error(checked.message);
  return checked.value;
}

const result = async (tool: Tool, input: Parameters<Tool["prepare"]>[0] = {}): Promise<ToolResult> =>
  (await (await prepared(tool, input)).execute(context)).result;

const base = { id: "t", description: "A tool", input: z.object({ n: z.number().default(1) }) };

describe("defineTool", () => {
  it("describes itself, once", () => {
    const tool = defineTool({ ...base, execute: ({ n }) => n, category: "math", metadata: { a: 1 } });
    expect(tool.descriptor).toMatchObject({ id: "t", description: "A tool", category: "math", metadata: { a: 1 } });
    expect(tool.descriptor.parameters).toMatchObject({ type: "object", properties: { n: { type: "number", default: 1 } } });
    expect(tool.descriptor).toBe(tool.descriptor);
  });

  it("has traits: its own or careful defaults", () => {
    expect(defineTool({ ...base, id: "grep", execute: () => 1 }).traits).toEqual({
      kind: "search",
      runsAt: "server",
      dynamic: false,
      idempotent: false,
      pure: false,
      canApprove: false,
      canReconcile: false,
      timeoutMs: undefined,
    });
    const all = defineTool({
      ...base,
      id: "grep",
      kind: "execute",
      dynamic: true,
      idempotent: true,
      pure: true,
      timeoutMs: 5,
      execute: () => 1,
      approve: () => block("no"),
      reconcile: () => ({ type: "not-done" }),
    });
    const own = { kind: "execute", dynamic: true, idempotent: true, pure: true, timeoutMs: 5 };
    expect(all.traits).toEqual({ ...own, runsAt: "server", canApprove: true, canReconcile: true });
  });

  it("refuses ids that a model cannot call, a limit that is none, and schemas without JSON Schema", async () => {
    for (const id of ["", " ", "a b", "a\nb", "x".repeat(129)]) {
      expect((await thrownBy(() => defineTool({ ...base, id, execute: () => 1 }))).code).toBe("invalid_tool");
    }
    for (const timeoutMs of [0, -1, Number.NaN]) {
      expect(await thrownBy(() => defineTool({ ...base, timeoutMs, execute: () => 1 }))).toMatchObject({
        code: "invalid_tool",
        message: expect.stringMatching(/^option 'timeoutMs' of tool 't' must be a number above 0/),
      });
    }
    const odd = defineTool({ ...base, input: z.object({ at: z.date() }), execute: () => 1 });
    expect((await thrownBy(() => odd.descriptor)).code).toBe("invalid_schema");
    const told = defineTool({ ...base, input: z.object({ at: z.date() }), parameters: { type: "object" }, execute: () => 1 });
    expect(told.descriptor.parameters).toEqual({ type: "object" });
  });

  it("checks the input, with missing as an empty object, and shows it as the schema gave it", async () => {
    const tool = defineTool({ ...base, execute: ({ n }) => n + 1 });
    expect((await prepared(tool, null)).input).toEqual({ n: 1 });
    expect(await result(tool, { n: 4 })).toEqual({ type: "success", data: 5 });
    expect(await tool.prepare({ n: "four" })).toMatchObject({ type: "invalid", message: expect.stringMatching(/^n: /) });
  });

  it("takes an asynchronous input schema", async () => {
    const tool = defineTool({ ...base, input: z.object({ n: z.number().refine(async (n) => n < 5) }), execute: ({ n }) => n });
    expect(await result(tool, { n: 1 })).toEqual({ type: "success", data: 1 });
    expect((await tool.prepare({ n: 9 })).type).toBe("invalid");
  });

  it("approves on the checked input, and allows when it has no opinion", async () => {
    const asking = defineTool({ ...base, execute: () => 1, approve: ({ n }) => (n > 5 ? ask(`really ${n}?`) : block("too few")) });
    expect(await (await prepared(asking, { n: 9 })).approve(scene)).toEqual(ask("really 9?"));
    expect(await (await prepared(asking, {})).approve(scene)).toEqual(block("too few"));
    expect(await (await prepared(defineTool({ ...base, execute: () => 1 }), {})).approve(scene)).toEqual({ type: "allow" });
  });

  it("makes results of plain data, of nothing, and of what JSON changes", async () => {
    expect(await result(defineTool({ ...base, execute: async () => undefined }))).toEqual({ type: "success", data: null });
    expect(await result(defineTool({ ...base, execute: () => ({ at: new Date(0) }) }))).toEqual({
      type: "success",
      data: { at: "1970-01-01T00:00:00.000Z" },
    });
  });

  it("rejects what was thrown and what JSON cannot express; the round makes a result of it", async () => {
    const throwing = defineTool({
      ...base,
      execute: () => {
        throw new Error("broken");
      },
    });
    await expect(result(throwing)).rejects.toThrow("broken");
    await expect(result(defineTool({ ...base, execute: () => ({ n: 1n }) as unknown }))).rejects.toThrow(TypeError);
  });

  it("checks the output: what does not fit is a failed result", async () => {
    const strict = (value: unknown) =>
      defineTool({ ...base, output: z.object({ ok: z.boolean() }), execute: () => JSON.parse(JSON.stringify(value)) });
    expect(await result(strict({ ok: true, more: 1 }))).toEqual({ type: "success", data: { ok: true } });
    expect(await result(strict({ ok: 1 }))).toMatchObject({
      type: "error",
      code: "internal",
      message: expect.stringMatching(/^Internal error: the tool's output does not fit: ok: /),
    });
  });

  it("passes replies through: data with extras, failures, waiting, and the command beside them", async () => {
    const given = command().update(counter("total"), 1);
    const replying = defineTool({
      ...base,
      output: z.string(),
      execute({ n }) {
        if (n === 1) return reply({ n }, { message: "one", metadata: { a: 1 }, command: given });
        if (n === 2) return fail("no_stock", "sold out");
        return wait({ action: "approve" }, { message: "waiting" });
      },
    });
    const first = await (await prepared(replying, { n: 1 })).execute(context);
    expect(first.result).toEqual({ type: "success", data: { n: 1 }, message: "one", metadata: { a: 1 } });
    expect(first.command).toBe(given);
    expect(await result(replying, { n: 2 })).toEqual({ type: "error", code: "no_stock", message: "sold out" });
    expect(await result(replying, { n: 3 })).toEqual({ type: "pending", suspension: { action: "approve" }, message: "waiting" });
  });

  it("reconciles by its own code, or does not know", async () => {
    const knowing = defineTool({ ...base, execute: () => 1, reconcile: ({ n }) => ({ type: "done", data: n }) });
    expect(await (await prepared(knowing, { n: 3 })).reconcile(context)).toEqual({ type: "done", data: 3 });
    expect(await (await prepared(defineTool({ ...base, execute: () => 1 }), {})).reconcile(context)).toEqual({ type: "unknown" });
  });
});
