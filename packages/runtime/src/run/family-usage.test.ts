import { type AgentUsage, AwakenError, addUsage, NO_USAGE, runId } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { ended, given, office, process, STORES } from "../builtin/background/tasks.test-support.ts";
import { always } from "../builtin/delegate/team.test-support.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import type { RunResult } from "./run-result.ts";

/** Each answer of a model is 15 tokens. */
const shown = ({ usage, usageByAgent }: RunResult): readonly string[] => {
  expect(usage).toEqual(usageByAgent.map((part: AgentUsage) => part.usage).reduce(addUsage, NO_USAGE));
  return usageByAgent.map(({ agentPath, runs, usage: part }) => `${agentPath.join(" > ")}: ${runs}, ${part.totalTokens}`).sort();
};

const GO = { agent: "lead", thread: "t", input: "go" } as const;

const AGENTS = {
  lead: { model: "lead", delegates: ["writer"] },
  writer: { model: "writer", delegates: ["clerk"] },
  clerk: { model: "clerk", description: "The clerk" },
};

/** Asks two writers, who ask a clerk each; then sends a clerk out, and says what it reads. */
const TURNS = {
  lead: always(({ role, text: said }) => {
    if (role === "user" && said === "go") return toolCalls(["a", "b"].map((prompt) => ({ name: "agent_run_writer", input: { prompt } })));
    return role === "tool" && said !== "null" ? toolCall("work", {}) : text(said);
  }),
  writer: always(({ role, text: said }) => (role === "tool" ? text(`written: ${said}`) : toolCall("agent_run_clerk", { prompt: said }))),
  clerk: always(({ role, text: said }) => (role === "user" && said === "b" ? toolCall("look", {}) : text("found"))),
};

const look = defineTool({ id: "look", description: "Looks", input: z.object({}), execute: () => "seen" });

describe.each(STORES)("what a family has used, with %s", (_, make) => {
  test("multi-agent 70: is the sum over all runs below, and each part stands with its agent path", async () => {
    const { runtime, does } = office(TURNS, { ...given(make()), agents: AGENTS, tools: [look] });
    does(async ({ tasks }) => {
      await tasks.spawnAgent({ agent: "clerk", input: "c" });
      return null;
    });
    const run = runtime.stream(GO);
    const ends: number[] = [];
    for await (const event of run) if (event.type === "child-end" && event.agentId === "writer") ends.push(event.usage.totalTokens);
    const first = await run.result;
    expect(ends.sort()).toEqual([45, 60]);
    const parts = ["lead > writer > clerk: 2, 45", "lead > writer: 2, 60"];
    const last = await ended(runtime, first.runId);
    expect(last.status).toBe("done");
    expect(shown(last)).toEqual(["lead > clerk: 1, 15", ...parts, `lead: 1, ${last.steps * 15}`]);
    expect(shown(await runtime.wait(first.runId))).toEqual(shown(last));
    await runtime.close();
  });

  test("multi-agent 70: a run that started none is asked for nothing", async () => {
    const { runtime } = office({ lead: [text("alone")] }, given(make()));
    const result = await runtime.run(GO);
    expect(result).toMatchObject({
      usage: { totalTokens: 15 },
      usageByAgent: [{ agentPath: ["lead"], runs: 1, usage: { totalTokens: 15 } }],
    });
    expect(result.usageByAgent).toHaveLength(1);
    await runtime.close();
  });
});

describe.each([
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(":memory:")],
] as const)("what a family has used over restarts, on %s", (_, make) => {
  test("multi-agent 70: is whole after another process went on with it, for the root and for a run in the middle", async () => {
    const asking = defineTool({ id: "look", description: "", input: z.object({}), approve: () => ask("Look?"), execute: () => "seen" });
    const store = make();
    const init = { agents: AGENTS, tools: [asking], workers: false };
    const before = office(TURNS, { ...process(store), ...init });
    const waiting = await before.runtime.run(GO);
    expect(shown(waiting)).toEqual(["lead > writer > clerk: 2, 30", "lead > writer: 2, 45", "lead: 1, 15"]);
    await before.runtime.close();
    const after = office(TURNS, { ...process(store), ...init });
    const tickets = waiting.status === "waiting" ? waiting.tickets : [];
    const decided = await after.runtime.decide(tickets[0]?.id ?? "", { action: "approve" });
    const last = await decided.result;
    expect(last.status).toBe("done");
    expect(shown(last)).toEqual(["lead > writer > clerk: 2, 45", "lead > writer: 2, 60", `lead: 1, ${last.steps * 15}`]);
    const writers = (await store.runs.list({ rootRunId: last.runId })).items.filter(({ agentId }) => agentId === "writer");
    const both = await Promise.all(writers.map(async ({ runId }) => shown(await after.runtime.wait(runId)).join("; ")));
    expect(both.sort()).toEqual([
      "lead > writer > clerk: 1, 15; lead > writer: 1, 30",
      "lead > writer > clerk: 1, 30; lead > writer: 1, 30",
    ]);
    await after.runtime.close();
  });
});

test("multi-agent 70: a child that is done is done, also where nobody can read what the runs below it used", async () => {
  const store = memoryStore();
  const runs: typeof store.runs = {
    ...store.runs,
    list: (query) =>
      query.rootRunId === undefined ? store.runs.list(query) : Promise.reject(new AwakenError("storage_io", "the disk is away")),
  };
  const warned: string[] = [];
  const log = { warn: (message: string) => void warned.push(message), error() {} };
  const turns = {
    ...TURNS,
    lead: always(({ role, text: said }) => (role === "user" ? toolCall("agent_run_writer", { prompt: "b" }) : text(said))),
  };
  const asking = defineTool({ id: "look", description: "", input: z.object({}), approve: () => ask("Look?"), execute: () => "seen" });
  const { runtime } = office(turns, { ...process({ ...store, runs }), agents: AGENTS, tools: [asking], workers: false, log });
  // What it began before it waited, only the records know.
  const waiting = await runtime.run(GO);
  const run = await runtime.decide(waiting.status === "waiting" ? (waiting.tickets[0]?.id ?? "") : "", { action: "approve" });
  const ends: number[] = [];
  for await (const event of run) if (event.type === "child-end" && event.agentId === "writer") ends.push(event.usage.totalTokens);
  const result = await run.result;
  expect(result).toMatchObject({ status: "done" });
  expect(result.text).toContain("written: ");
  // Two answers of its own; those of the clerk are not known.
  expect(ends).toEqual([30]);
  expect(warned).toContain("what the runs below used could not be read: the disk is away");
  await runtime.close();
});

test("multi-agent 70: is whole for a run that parked before its record said that it had started others", async () => {
  const asking = defineTool({ id: "look", description: "", input: z.object({}), approve: () => ask("Look?"), execute: () => "seen" });
  const store = memoryStore();
  const init = { agents: AGENTS, tools: [asking], workers: false };
  const commit: typeof store.commit = (given) => {
    if (given.run === undefined) return store.commit(given);
    const { usageBelow: _below, ...run } = given.run;
    return store.commit({ ...given, run });
  };
  const before = office(TURNS, { ...process({ ...store, commit }), ...init });
  const waiting = await before.runtime.run(GO);
  await before.runtime.close();
  expect(await store.runs.load(runId(waiting.runId))).not.toHaveProperty("usageBelow");
  const after = office(TURNS, { ...process(store), ...init });
  const tickets = waiting.status === "waiting" ? waiting.tickets : [];
  const last = await (await after.runtime.decide(tickets[0]?.id ?? "", { action: "approve" })).result;
  expect(shown(last)).toContain("lead > writer: 2, 60");
  await after.runtime.close();
});

test("multi-agent 70: a run that saw all that it started come to its end reads no record for it", async () => {
  const store = memoryStore();
  const asked: string[] = [];
  const runs: typeof store.runs = {
    ...store.runs,
    list: (query) => {
      asked.push("list");
      return store.runs.list(query);
    },
    load: (id) => {
      asked.push("load");
      return store.runs.load(id);
    },
  };
  const { runtime } = office(TURNS, { ...process({ ...store, runs }), agents: AGENTS, tools: [look], workers: false });
  const result = await runtime.run(GO);
  expect(asked).toEqual([]);
  // In the order of the tree, as whoever asks the records is told it.
  expect(result.usageByAgent.map(({ agentPath }) => agentPath.join(" > "))).toEqual(["lead", "lead > writer", "lead > writer > clerk"]);
  expect((await runtime.wait(result.runId)).usageByAgent).toEqual(result.usageByAgent);
  expect(asked).toContain("list");
  await runtime.close();
});
