import { type AgentEvent, type Message, messageText, runId, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { wait } from "../tool/reply.ts";
import { ask, suspend } from "../tool/verdict.ts";

const SILENT = { warn() {}, error() {} };
const APPROVE = { action: "approve" } as const;
const input = z.object({ amount: z.number() });
const HOUR = 3_600_000;

/** `pay` can be edited, `fixed` cannot, `brief` expires in an hour, `asks` and `form` are questions. Each stays in the log of calls. */
function world(store: Store | undefined) {
  const clock = fakeClock(1000);
  const ran: string[] = [];
  const decided: unknown[] = [];
  const tool = (id: string, approve: () => ReturnType<typeof ask>) =>
    defineTool({
      id,
      description: "",
      input,
      approve,
      execute: ({ amount }, { resume }) => {
        ran.push(`${id} ${amount}`);
        decided.push(resume?.decision.metadata);
        return `${id} did ${amount}`;
      },
    });
  const tools = [
    tool("pay", () => ask("Pay?")),
    tool("fixed", () => ask("As it is?", { canEdit: false })),
    tool("brief", () => ask("Soon?", { expiresInMs: HOUR })),
    tool("form", () => suspend({ action: "form", resumeMode: "use-decision-as-tool-result", canEdit: true })),
    defineTool({
      id: "asks",
      description: "",
      input,
      execute: (_given, { resume }) => (resume === undefined ? wait({ action: "name", resumeMode: "pass-decision-to-tool" }) : "asked"),
    }),
  ];
  const open = (...turns: Parameters<typeof scripted>[0]) =>
    createRuntime({
      providers: { scripted: scripted(turns) },
      models: { fast: { provider: "scripted", model: "scripted-1" } },
      agents: { teller: { model: "fast", plugins: ["watch"] } },
      plugins: [
        definePlugin({
          id: "watch",
          register: (r) => r.hook("afterToolExecute", ({ resume }) => void decided.push(resume?.decision.metadata)),
        }),
      ],
      log: SILENT,
      clock,
      tools,
      ...(store === undefined ? {} : { store }),
    });
  return { clock, ran, decided, open };
}

const calls = (...names: readonly string[]) => toolCalls(names.map((name, index) => ({ name, input: { amount: index }, id: `c${index}` })));
const GO = { agent: "teller", thread: "t", runId: "r", input: "go" } as const;

async function eventsOf(run: AsyncIterable<AgentEvent>): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

const toldTo = (model: { readonly messages: readonly Message[] }): readonly string[] =>
  model.messages.flatMap((message) => (message.role === "tool" ? [messageText(message)] : []));

const stores: Record<string, () => Store | undefined> = {
  "no store": () => undefined,
  memory: () => memoryStore(),
  sqlite: () => sqliteStore(":memory:"),
};

describe.each(Object.entries(stores))("tickets: %s", (_name, openStore) => {
  test("say whether the input can be edited, when they expire, and whose they are: in the event, on the result and on record", async () => {
    const store = openStore();
    const { open } = world(store);
    const run = open(calls("pay", "fixed", "brief", "form", "asks")).stream(GO);
    const events = await eventsOf(run);
    const tickets = ticketsOf(await run.result);
    const family = { rootRunId: "r", agentPath: ["teller"] };
    const expected = [
      { toolName: "pay", canEdit: true, ...family },
      { toolName: "fixed", canEdit: false, ...family },
      { toolName: "brief", canEdit: true, expiresAt: 1000 + HOUR, ...family },
      { toolName: "form", canEdit: false, ...family },
      { toolName: "asks", canEdit: false, ...family },
    ];
    expect(tickets).toMatchObject(expected);
    expect(tickets.filter((ticket) => "expiresAt" in ticket)).toHaveLength(1);
    const told = events.flatMap((event) => (event.type === "ticket-open" ? [event.ticket] : []));
    expect(told.toSorted((a, b) => (a.toolCallId < b.toolCallId ? -1 : 1))).toEqual(tickets);
    if (store === undefined) return;
    expect(await store.runs.listOpenTickets(runId("r"))).toEqual(tickets);
    expect(await store.runs.load(runId("r"))).toMatchObject({ waiting: { tickets: expected } });
  });

  test("an edit where there must be none is refused, whatever else is decided with it; without one the call runs", async () => {
    const { open, ran } = world(openStore());
    const runtime = open(calls("fixed", "asks"), text("done"));
    const [fixed, asks] = ticketsOf(await runtime.run(GO));
    const edited = { ...APPROVE, input: { amount: 9 } };
    const refused = { code: "ticket_not_editable" };
    await expect(runtime.decide(fixed?.id ?? "", edited)).rejects.toMatchObject(refused);
    await expect(runtime.decide(asks?.id ?? "", edited)).rejects.toMatchObject(refused);
    const both = [fixed, asks].map((ticket) => ({ ticket: ticket?.id ?? "", decision: APPROVE }));
    const run = await runtime.decideAll(both);
    expect([(await run.result).status, ran]).toEqual(["done", ["fixed 0"]]);
  });

  test("a decision comes before the ticket expires, or it is refused; the run stays as it was", async () => {
    const { open, clock, ran } = world(openStore());
    const runtime = open(calls("brief"), text("done"), calls("brief"));
    const [first] = ticketsOf(await runtime.run(GO));
    await clock.advance(HOUR - 1);
    const run = await runtime.decide(first?.id ?? "", APPROVE);
    expect([(await run.result).status, ran]).toEqual(["done", ["brief 0"]]);
    const [second] = ticketsOf(await runtime.run({ ...GO, runId: "r2" }));
    await clock.advance(HOUR);
    for (const decision of [APPROVE, { action: "deny" as const }, { action: "answer" as const, result: 1 }])
      await expect(runtime.decide(second?.id ?? "", decision)).rejects.toMatchObject({ code: "ticket_expired" });
    expect([(await runtime.wait("r2")).status, ran]).toEqual(["waiting", ["brief 0"]]);
  });

  test("a run that goes on finds the expired call denied, and says so", async () => {
    const { open, clock, ran } = world(openStore());
    const seen: string[][] = [];
    const runtime = open(calls("brief", "pay"), (request) => {
      seen.push([...toldTo(request)]);
      return text("done");
    });
    const [brief, pay] = ticketsOf(await runtime.run(GO));
    await clock.advance(HOUR);
    const run = await runtime.decide(pay?.id ?? "", APPROVE);
    const events = await eventsOf(run);
    expect((await run.result).status).toBe("done");
    expect(ran).toEqual(["pay 1"]);
    expect(seen).toEqual([[expect.stringContaining("the approval expired"), "pay did 1"]]);
    const ended = events.filter((event) => event.type === "tool-call-resumed" || event.type === "decision-taken");
    expect(ended).toMatchObject([
      { type: "decision-taken", ticketId: pay?.id, action: "approve" },
      { type: "decision-taken", ticketId: brief?.id, action: "deny", reason: expect.stringContaining("expired") },
      { type: "tool-call-resumed", ticketId: brief?.id, outcome: "denied" },
      { type: "tool-call-resumed", ticketId: pay?.id, outcome: "succeeded" },
    ]);
    await expect(runtime.decide(brief?.id ?? "", APPROVE)).rejects.toMatchObject({ code: "ticket_not_open" });
  });

  test("a message that comes finds it denied in its place; what has not expired is superseded", async () => {
    const { open, clock, ran } = world(openStore());
    const seen: string[][] = [];
    const runtime = open(calls("brief", "pay"), (request) => {
      seen.push([...toldTo(request)]);
      return text("done");
    });
    const [brief] = ticketsOf(await runtime.run(GO));
    await clock.advance(HOUR);
    expect((await runtime.run({ agent: "teller", thread: "t", input: "well?" })).status).toBe("done");
    expect([seen, ran]).toEqual([[[expect.stringContaining("the approval expired")]], []]);
    await expect(runtime.decide(brief?.id ?? "", APPROVE)).rejects.toMatchObject({ code: "ticket_not_open" });
  });

  test("a run whose approval has expired can be resumed; before that it waits", async () => {
    const { open, clock } = world(openStore());
    const runtime = open(calls("brief"), text("done"));
    await runtime.run(GO);
    await expect(runtime.resume("r")).rejects.toMatchObject({ code: "invalid_resume" });
    await clock.advance(HOUR);
    expect((await runtime.resume("r")).text).toBe("done");
  });

  test("what a decision says to plugins reaches tools, hooks and the record", async () => {
    const store = openStore();
    const { open, decided } = world(store);
    const metadata = { remember: "thread", device: { id: 7 } };
    const runtime = open(calls("pay", "asks"), text("done"));
    const [pay] = ticketsOf(await runtime.run(GO));
    const run = await runtime.decide(pay?.id ?? "", { ...APPROVE, id: "d1", by: "ana", metadata });
    expect((await run.result).status).toBe("waiting");
    expect(decided).toEqual([undefined, metadata, metadata]);
    await expect(runtime.decide(pay?.id ?? "", { ...APPROVE, id: "d1", metadata: {} })).rejects.toMatchObject({
      code: "decision_conflict",
    });
    if (store === undefined) return;
    const { items } = await store.events.list({ type: "thread", threadId: threadId("t") }, {});
    expect(items.filter(({ kind }) => kind === "decision-taken").map(({ payload }) => payload)).toMatchObject([
      { action: "approve", metadata },
    ]);
  });
});

test.each([{ canEdit: "no" }, { expiresInMs: 0 }, { expiresInMs: Number.NaN }])("a gate that asks for %o fails its call", async (odd) => {
  const runtime = createRuntime({
    providers: { scripted: scripted([calls("odd"), text("done")]) },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { teller: { model: "fast" } },
    log: SILENT,
    tools: [
      defineTool({
        id: "odd",
        description: "",
        input,
        approve: () => Object.assign(ask("?"), { suspension: { action: "approve", ...odd } }),
        execute: () => "no",
      }),
    ],
  });
  const run = runtime.stream(GO);
  const events = await eventsOf(run);
  expect(JSON.stringify(events)).toContain(Object.keys(odd)[0]);
  expect((await run.result).status).not.toBe("waiting");
});
