import { type AgentEvent, isJsonObject, type JsonObject, type RunRecord, threadId, toolCallId } from "@awaken/contract";
import { eventCursor, type StoredEvent } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { expect, test } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { toolCall } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import type { PassingEvent } from "./live-event.ts";
import { Passing } from "./passing.ts";
import { Rebuild } from "./rebuild.ts";

/** What is on record of a run that waits for a ticket. */
async function waitingRun(): Promise<{ readonly run: RunRecord; readonly facts: readonly StoredEvent[]; readonly ticketId: string }> {
  await using store = memoryStore();
  const pay = defineTool({ id: "pay", description: "Pays", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
  await using runtime = createRuntime({
    providers: { house: scripted([toolCall("pay", {}, { id: "c1" })]) },
    models: { fast: { provider: "house", model: "m" } },
    agents: { lead: { model: "fast" } },
    tools: [pay],
    store,
  });
  const waiting = await runtime.run({ agent: "lead", thread: "t", input: "go" });
  if (waiting.status !== "waiting") return expect.fail(waiting.status);
  const { items: facts } = await store.events.list({ type: "thread", threadId: threadId("t") }, { limit: 100 });
  const run = (await store.runs.load(waiting.runId)) ?? expect.fail("it has no record");
  return { run, facts, ticketId: waiting.tickets[0]?.id ?? expect.fail("it has no ticket") };
}

test.each([true, false])(
  "a decision about a run that is ended before it goes on is told before that end: followed alone %s",
  async (isAlone) => {
    const { run, facts, ticketId } = await waitingRun();
    const [like] = facts;
    if (like === undefined) return expect.fail("nothing is on record");
    const rebuild = new Rebuild(new Passing(), isAlone);
    let count = 0;
    const commit = (events: readonly StoredEvent[]) => {
      const told = rebuild.commit({ events, run, cursor: eventCursor(`${count++}`), message: () => undefined, lastWords: "" });
      return told.map(({ type }) => type);
    };
    const fact = (kind: string, payload: JsonObject): StoredEvent => ({ ...like, visibility: "public", kind, payload });
    commit(facts);
    expect(rebuild.position).toEqual({ type: "waiting", step: 1 });
    expect(commit([fact("decision-taken", { ticketId, toolCallId: "c1", toolName: "pay", action: "approve", decidedAt: 1 })])).toEqual([]);
    // Whoever came back here would miss it.
    expect(rebuild.position).toBeUndefined();
    const end = { termination: { type: "cancelled" }, tickets: [], result: { status: "cancelled" } };
    expect(commit([fact("run-cancelled", end)])).toEqual(["decision-taken", "run-end"]);
    expect(rebuild.position).toEqual({ type: isAlone ? "over" : "none" });
  },
);

test("what a call said that had its result before the run waited is not told when the run goes on", async () => {
  const { run, facts } = await waitingRun();
  const [like] = facts;
  if (like === undefined) return expect.fail("nothing is on record");
  const passing = new Passing();
  const rebuild = new Rebuild(passing, false);
  const commit = (events: readonly StoredEvent[]) =>
    rebuild.commit({ events, run, cursor: eventCursor("0"), message: () => undefined, lastWords: "" }).map(({ type }) => type);
  const ended = (id: string): StoredEvent => {
    const result = { type: "success", data: "noted" };
    const payload = { toolCallId: id, toolName: "note", messageId: "m", outcome: "succeeded", result };
    return { ...like, visibility: "public", kind: "tool-call-done", payload };
  };
  const at = facts.findIndex(({ kind }) => kind === "tool-call-suspended");
  expect(commit([...facts.slice(0, at), ended("c2"), ...facts.slice(at)])).toContain("tool-call-end");
  const started = facts.find(({ kind }) => kind === "run-started") ?? expect.fail("it has not begun");
  expect(commit([{ ...started, kind: "run-resumed" }])).toEqual(["run-start"]);
  // From another process, and late.
  const ran = (id: string): PassingEvent => ({ step: 1, event: { type: "tool-call-run", toolCallId: toolCallId(id) } });
  passing.hear(run.runId, [ran("c2"), ran("c1")]);
  expect(rebuild.pass()).toEqual([ran("c1").event]);
});

test("a call whose turn was not kept begins before it is ready", async () => {
  const { run, facts } = await waitingRun();
  const told = new Rebuild(new Passing(), false).commit({
    events: facts,
    run,
    cursor: eventCursor("0"),
    message: () => undefined,
    lastWords: "",
  });
  const types = told.map(({ type }) => type);
  const step = ["step-start", "tool-call-start", "tool-call-delta", "tool-call-ready", "inference-end"];
  expect(types.slice(types.indexOf("step-start"))).toEqual([...step, "tool-call-end", "step-end", "ticket-open", "run-end"]);
});

test.each([1, 2])("a ticket of a run that was cut off is told before it goes on, read in %s commits", async (parts) => {
  const { run, facts } = await waitingRun();
  const rebuild = new Rebuild(new Passing(), false);
  const started = facts.find(({ kind }) => kind === "run-started") ?? expect.fail("it has not begun");
  const left = facts.filter(({ kind }) => kind !== "run-suspended");
  const again: StoredEvent = { ...started, kind: "run-resumed" };
  const commits = parts === 1 ? [[...left, again]] : [left, [again]];
  const told = commits.flatMap((events) =>
    rebuild.commit({ events, run, cursor: eventCursor("0"), message: () => undefined, lastWords: "" }).map(({ type }) => type),
  );
  expect(told.slice(-4)).toEqual(["tool-call-end", "step-end", "ticket-open", "run-start"]);
});

/** A ticket of a run below it. */
function below(facts: readonly StoredEvent[], id: string): StoredEvent {
  const fact = facts.find(({ kind }) => kind === "ticket-open") ?? expect.fail("nothing asks");
  const { ticket } = fact.payload;
  if (!isJsonObject(ticket)) return expect.fail("it says nothing of it");
  return { ...fact, payload: { ticket: { ...ticket, id, runId: "child", agentPath: ["lead", "clerk"] } } };
}

const asked = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === "ticket-open" ? [event.ticket.id] : event.type === "run-end" ? ["end"] : []));

test.each([1, 2])("tickets are told in the order of the log, read in %s commits", async (parts) => {
  const { run, facts, ticketId } = await waitingRun();
  const begun = { runId: "child", threadId: "child", agentId: "clerk", agentPath: ["lead", "clerk"] };
  const [like] = facts;
  if (like === undefined) return expect.fail("nothing is on record");
  const child: StoredEvent = { ...like, visibility: "public", kind: "child-start", payload: begun };
  const left = facts.filter(({ kind }) => kind !== "run-suspended");
  const news = [child, below(facts, "b1")];
  const rebuild = new Rebuild(new Passing(), false);
  const commits = parts === 1 ? [[...left, ...news]] : [left, news];
  const told = commits.flatMap((events) =>
    rebuild.commit({ events, run, cursor: eventCursor("0"), message: () => undefined, lastWords: "" }),
  );
  expect(asked(told)).toEqual([ticketId, "b1"]);
});

test("whoever came back has a place to go on from again as soon as the run says something itself", async () => {
  const { run, facts } = await waitingRun();
  const rebuild = new Rebuild(new Passing(), false);
  rebuild.restore(run.runId, { type: "running", step: 1, pending: undefined }, 0);
  const commit = (...events: readonly StoredEvent[]) =>
    asked(rebuild.commit({ events, run, cursor: eventCursor("0"), message: () => undefined, lastWords: "" }));
  const own = facts.filter(({ kind }) => kind === "inference-complete");
  // Its start may have been told before he left, or come now.
  expect(commit(below(facts, "b1"))).toEqual([]);
  expect(rebuild.position).toBeUndefined();
  expect(commit(below(facts, "b2"))).toEqual([]);
  expect(commit(...own, below(facts, "b3"))).toEqual(["b1", "b2"]);
  expect(asked(rebuild.tellBelow(0))).toEqual(["b3"]);
  expect(rebuild.position).toMatchObject({ type: "running" });
});
