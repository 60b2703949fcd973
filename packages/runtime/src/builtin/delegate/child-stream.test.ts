import type { AgentEvent } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { checkEvents } from "../../testing/event-checker.ts";
import { cut, failure, text, toolCall } from "../../testing/script.ts";
import type { ScriptStep } from "../../testing/scripted.ts";
import type { ChildRequest, ChildResult } from "../../tool/child-result.ts";
import { defineTool } from "../../tool/define-tool.ts";
import { given, STORES } from "../background/tasks.test-support.ts";
import { team } from "./team.test-support.ts";

/** A tool that asks the writer and lets others read along: what was heard of it, and what it was told. */
async function readAlong(store: ReturnType<(typeof STORES)[number][1]>, turns: readonly ScriptStep[], stream: ChildRequest["stream"]) {
  const told: ChildResult[] = [];
  const call = defineTool({
    id: "call",
    description: "",
    input: z.object({}),
    execute: async (_, ctx) => {
      const result = await ctx.runAgent({ agent: "writer", input: "write", ...(stream === undefined ? undefined : { stream }) });
      told.push(result);
      return result.status;
    },
  });
  const note = defineTool({ id: "note", description: "", input: z.object({}), execute: () => "noted" });
  const { runtime } = team(
    {
      lead: { turns: [toolCall("call", {}, { id: "c1" }), text("ok")], spec: { tools: ["call"] } },
      writer: { turns, spec: { tools: ["note"] } },
    },
    { ...given(store), tools: [call, note] },
  );
  const run = runtime.stream({ agent: "lead", input: "x" });
  const events: AgentEvent[] = [];
  for await (const event of run) events.push(event);
  checkEvents(events);
  await runtime.close();
  const heard = events.filter((event) => event.type === "tool-call-stream-delta");
  expect(heard.every(({ toolCallId, toolName }) => toolCallId === "c1" && toolName === "call")).toBe(true);
  return { heard: heard.map(({ delta }) => delta), result: told[0] };
}

const fatal = () => failure("unauthorized", "no key");

describe.each(STORES)("what a child says, for those who listen to its caller, with %s", (_, make) => {
  test("multi-agent 21: its text is output of the call as it comes, and kept; its failure is shown in brackets, and not kept", async () => {
    const turns = [toolCall("note", {}, { say: "first, " }), fatal()];
    const { heard, result } = await readAlong(make(), turns, true);
    expect(result).toMatchObject({ status: "failed", streamed: "first, " });
    expect(heard[0]).toBe("first, ");
    expect(heard).toHaveLength(2);
    expect(heard[1]).toMatch(/^\[child error \w+: .*no key.*\]$/);
    const dropped = await readAlong(make(), turns, { errors: "drop" });
    expect(dropped).toMatchObject({ heard: ["first, "], result: { status: "failed", streamed: "first, " } });
  });

  test("multi-agent 21: a failure without a code is shown without one", async () => {
    const { heard } = await readAlong(make(), new Array(40).fill(toolCall("note", {})), true);
    expect(heard).toEqual(["[child error: stopped: max-steps]"]);
  });

  test("multi-agent 21: several answers follow each other; one that was begun anew is kept once; and nobody hears who did not ask", async () => {
    const turns = [toolCall("note", {}, { say: "one " }), cut(text("tw", "o"), 1), text("two ", "three")];
    const { heard, result } = await readAlong(make(), turns, true);
    expect(result).toMatchObject({ status: "done" });
    expect(heard.join("")).toContain("one ");
    expect(result?.streamed?.endsWith(result.text)).toBe(true);
    const quiet = await readAlong(make(), [text("x")], undefined);
    expect(quiet.heard).toEqual([]);
    expect(quiet.result).not.toHaveProperty("streamed");
  });
});
