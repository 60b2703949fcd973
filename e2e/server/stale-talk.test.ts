import { threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import type { Runtime } from "@awaken/runtime";
import { describe, expect, test } from "vitest";
import { openShared } from "../relay/support/nodes.ts";
import { openNode } from "../relay/support/speaker.ts";
import { openServer, request } from "./support/client.ts";

// Protocols on a thread that changes between the server's look at it and what the page asks for.

const WORDS = "one two three äöü 😀 five.";

const served = (runtime: Runtime, store: QueueStore, scoped: QueueStore["scoped"]) =>
  openServer({ runtime: { scoped: runtime.scoped, recover: runtime.recover, watch: runtime.watch, store: { ...store, scoped } } });

/** What the server first reads of the thread and of its open run is as old as it was before `change`. */
const changedAfterLook = (runtime: Runtime, store: QueueStore, change: () => Promise<unknown>) =>
  served(runtime, store, (scope) => {
    const records = store.scoped(scope);
    const runs = { ...records.runs };
    const load: typeof records.threads.load = async (id) => {
      const before = await records.threads.load(id);
      let old = before?.openRunId === undefined ? undefined : await records.runs.load(before.openRunId);
      await change();
      runs.load = async (run) => {
        const seen = old?.runId === run ? old : await records.runs.load(run);
        old = undefined;
        return seen;
      };
      return before;
    };
    return { ...records, threads: { ...records.threads, load }, runs };
  });

/** What the server reads of open tickets is as old as that. */
const changedAfterTickets = (runtime: Runtime, store: QueueStore, change: () => Promise<unknown>) =>
  served(runtime, store, (scope) => {
    const records = store.scoped(scope);
    const listOpenTickets: typeof records.runs.listOpenTickets = async (run) => {
      const before = await records.runs.listOpenTickets(run);
      await change();
      return before;
    };
    return { ...records, runs: { ...records.runs, listOpenTickets } };
  });

interface Waiting {
  readonly runId: string;
  readonly ticket: string;
  readonly toolCallId: string;
}

async function waits(runtime: Runtime, input = "approve say"): Promise<Waiting> {
  const result = await runtime.run({ agent: "assistant", thread: "t", input });
  const ticket = result.status === "waiting" ? result.tickets[0] : undefined;
  return ticket === undefined ? expect.fail(result.status) : { runId: result.runId, ticket: ticket.id, toolCallId: ticket.toolCallId };
}

const PROTOCOLS = [
  {
    name: "AI SDK",
    path: "/v1/ai-sdk/chat",
    say: { id: "t", agentId: "assistant", messages: [{ id: "u", role: "user", parts: [{ type: "text", text: "say" }] }] },
    approve: ({ ticket, toolCallId }: Waiting) => ({
      id: "t",
      messages: [
        {
          id: "a",
          role: "assistant",
          parts: [{ type: "tool-approve", toolCallId, state: "approval-responded", input: {}, approval: { id: ticket, approved: true } }],
        },
      ],
    }),
    decisionId: (ticket: string) => `ai-sdk:${ticket}`,
    delta: "text-delta",
    end: /"type":"finish"/,
  },
  {
    name: "AG-UI",
    path: "/v1/ag-ui/run",
    say: { threadId: "t", runId: "r", agentId: "assistant", messages: [{ id: "u", role: "user", content: "say" }] },
    approve: ({ ticket }: Waiting) => ({ threadId: "t", runId: "r", messages: [], resume: [{ interruptId: ticket, status: "resolved" }] }),
    decisionId: (ticket: string) => `ag-ui:${ticket}`,
    delta: "TEXT_MESSAGE_CONTENT",
    end: /"type":"RUN_FINISHED"/,
  },
] as const;

const shown = (body: string, delta: string): string =>
  body
    .split("\n")
    .flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6))] : []))
    .map((frame) => (frame.type === delta ? frame.delta : ""))
    .join("");

describe.each(PROTOCOLS)("$name on a thread that changed since it was looked at", ({ path, say, approve, decisionId, delta, end }) => {
  const ask = (server: ReturnType<typeof openServer>, body: object) => server.fetch(request("POST", path, { body }));

  test("a run began to wait: it takes in what is said, and what it says now is told", async () => {
    await using shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0], { workers: false });
    await runtime.run({ agent: "assistant", thread: "t", input: "say" });
    let began = "";
    const wait = async () => {
      began = (await waits(runtime)).runId;
    };
    const response = await ask(changedAfterLook(runtime, shared.stores[0], wait), say);
    const body = await response.text();
    expect(response.headers.get("x-run-id")).toBe(began);
    expect(shown(body, delta)).toBe(WORDS);
    expect(body).toMatch(end);
    const { items } = await shared.stores[0].messages.list(threadId("t"), {});
    expect(items.filter(({ message }) => message.role === "user")).toHaveLength(3);
  });

  test("somebody else gave the same answer, and the run waits for the next: the stream says so and ends", async () => {
    await using shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0], { workers: false });
    const waiting = await waits(runtime, "approve approve say");
    const decide = async () => (await runtime.decide(waiting.ticket, { action: "approve", id: decisionId(waiting.ticket) })).result;
    const response = await ask(changedAfterTickets(runtime, shared.stores[0], decide), approve(waiting));
    expect(response.status).toBe(200);
    const body = await response.text();
    expect(body).not.toMatch(/error/i);
    expect(response.headers.get("x-run-id")).toBe(waiting.runId);
  });
});

test("AI SDK: the run that waited is over since the server looked: what is told is the new one", async () => {
  const [{ path, say, delta, end }] = PROTOCOLS;
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0], { workers: false });
  const { runId, ticket } = await waits(runtime);
  const decide = async () => (await runtime.decide(ticket, { action: "approve" })).result;
  const response = await changedAfterLook(runtime, shared.stores[0], decide).fetch(request("POST", path, { body: say }));
  const body = await response.text();
  expect(response.headers.get("x-run-id")).not.toBe(runId);
  expect(shown(body, delta)).toBe(WORDS);
  expect(body).toMatch(end);
});
