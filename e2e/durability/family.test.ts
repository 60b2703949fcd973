import { type JsonObject, type Provider, type RunIdentity, type RunRecord, runId, threadId } from "@awaken/contract";
import type { QueueStore, Store } from "@awaken/contract/store";
import { ask, definePlugin, defineTool, type RuntimeInit } from "@awaken/runtime";
import { crashPoints, scripted, text, ticketsOf, toolCall } from "@awaken/runtime/testing";
import { beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { onEveryStore, openProcess, seeing } from "./support/every-store.ts";

const TRACE_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const FAMILY = { parentRunId: "mother", rootRunId: "grandmother" };
const PRINCIPAL = { sub: "ana", roles: ["clerk"], secret: "of nobody else" };
const TRACE = { ...FAMILY, traceParent: TRACE_PARENT, origin: "subagent", parentToolCallId: "call-7", sessionId: "s" } as const;
const ON_RECORD = { ...FAMILY, principal: PRINCIPAL, traceParent: TRACE_PARENT, sessionId: "s" };

/** What hooks and tools were shown. */
type Seen = (readonly [string, RunIdentity, JsonObject | undefined])[];

const watching = (seen: Seen) =>
  definePlugin({
    id: "watch",
    register: (r) => {
      r.hook("runStart", ({ identity, principal }) => void seen.push(["run", identity, principal]));
      r.hook("stepEnd", ({ identity, principal }) => void seen.push(["step", identity, principal]));
    },
  });

const paying = (seen: Seen, init: { readonly asks: boolean }) =>
  defineTool({
    id: "pay",
    description: "",
    input: z.object({}),
    idempotent: true,
    ...(init.asks ? { approve: () => ask("Pay?") } : {}),
    execute: (_, { identity, principal }) => {
      seen.push(["tool", identity, principal]);
      return "paid";
    },
  });

function open(store: Store, provider: Provider, seen: Seen, init: Partial<RuntimeInit> & { readonly asks?: boolean } = {}) {
  const { asks = true, ...more } = init;
  return openProcess(provider, {
    agents: { default: { model: "fast", plugins: ["watch"] } },
    plugins: [watching(seen)],
    tools: [paying(seen, { asks })],
    store,
    ...more,
  });
}

/** Every record that is written, as it goes to the store. */
function recording(store: QueueStore): { readonly store: QueueStore; readonly written: RunRecord["status"][] } {
  const written: RunRecord["status"][] = [];
  const noting = seeing(store, ({ run }) => {
    if (run === undefined) return;
    expect(run).toMatchObject(ON_RECORD);
    written.push(run.status);
  });
  return { store: noting, written };
}

onEveryStore("family and principal of a run", (current) => {
  let store: QueueStore;
  beforeAll(() => {
    store = current();
  });

  const load = (id: string) => store.runs.load(runId(id));
  const checkSeen = (seen: Seen, id: string) => {
    for (const [, identity, principal] of seen) {
      expect(identity).toMatchObject({ ...TRACE, runId: id });
      expect(principal).toEqual(PRINCIPAL);
      expect(Object.isFrozen(principal?.["roles"])).toBe(true);
    }
    return seen.map(([what]) => what);
  };

  test("are on record with every commit, over a suspension and a decision of another process", async () => {
    const seen: Seen = [];
    const first = recording(store);
    const before = open(first.store, scripted([toolCall("pay", {})]), seen);
    const waiting = await before.run({ thread: "child", runId: "child", input: "pay", principal: PRINCIPAL, trace: TRACE });
    expect(waiting).toMatchObject({ status: "waiting", runId: "child" });
    expect(await load("child")).toMatchObject({ status: "waiting", ...ON_RECORD });
    expect((await store.runs.listOpenTickets(runId("grandmother"))).map((ticket) => ticket.rootRunId)).toEqual(["grandmother"]);
    const second = recording(store);
    const after = open(second.store, scripted([text("done")]), seen);
    const stranger = { principal: { sub: "eve" }, trace: { parentRunId: "eve" } };
    const decisions = [{ ticket: ticketsOf(waiting)[0]?.id ?? "", decision: { action: "approve" } }] as const;
    expect(await after.run({ thread: "child", resume: "child", decisions, ...stranger })).toMatchObject({ status: "done" });
    expect(await load("child")).toMatchObject({ status: "done", ...ON_RECORD });
    expect(first.written).toContain("running");
    expect(first.written.at(-1)).toBe("waiting");
    expect(second.written.at(-1)).toBe("done");
    expect(checkSeen(seen, "child")).toEqual(["run", "step", "tool", "run", "step"]);
    const [byParent, byRoot] = [
      await store.runs.list({ parentRunId: runId("mother") }),
      await store.runs.list({ rootRunId: runId("grandmother") }),
    ];
    expect([byParent.items.map((run) => run.runId), byRoot.items.map((run) => run.runId)]).toEqual([["child"], ["child"]]);
    // Events leave the process: they tell the family, and not on whose behalf.
    const told = JSON.stringify((await store.events.list({ type: "thread", threadId: threadId("child") }, {})).items);
    expect(told).toContain("grandmother");
    expect(told).not.toContain("of nobody else");
  });

  test("are those of the maker also when a worker executes it, and another one takes it over", async () => {
    const seen: Seen = [];
    const points = crashPoints({ at: "tool-start", nth: 1, mode: "throw" });
    const maker = open(store, scripted([]), seen);
    const id = "given-by-its-maker";
    expect(await maker.start({ thread: "queued", runId: id, input: "x", principal: PRINCIPAL, trace: TRACE })).toMatchObject({ runId: id });
    expect(await load(id)).toMatchObject({ status: "created", ...ON_RECORD });
    const failing = points.commits(store, "commit", "transaction");
    const claim: QueueStore["dispatches"]["claim"] = async (...given) => (points.hasCrashed ? undefined : store.dispatches.claim(...given));
    // A process that is dead takes nothing up: else it would use up the attempts of its heir.
    const dead: QueueStore = { ...failing, dispatches: { ...failing.dispatches, claim } };
    const dying = open(dead, scripted([toolCall("pay", {})]), seen, {
      ...{ asks: false, workers: true, tools: points.tools([paying(seen, { asks: false })]) },
    });
    await dying.recover();
    await expect.poll(() => points.hasCrashed).toBe(true);
    expect(await load(id)).toMatchObject({ status: "running", ...ON_RECORD });
    await using heir = open(store, scripted([text("done")]), seen, { asks: false, workers: true });
    await heir.recover();
    expect(await heir.wait(id)).toMatchObject({ status: "done", text: "done" });
    expect(await load(id)).toMatchObject({ status: "done", ...ON_RECORD });
    expect(checkSeen(seen, id)).toContain("tool");
    await dying.close();
  });

  test.each(["rewind", "cancel"] as const)("stay when the run is ended from its records, by %s", async (verb) => {
    const seen: Seen = [];
    const own = recording(store);
    const thread = `ended-by-${verb}`;
    const runtime = open(own.store, scripted([toolCall("pay", {})]), seen);
    const input = [{ role: "user", content: "pay", id: `ask-${verb}` }] as const;
    const { runId: id } = await runtime.run({ thread, input, principal: PRINCIPAL, trace: TRACE });
    const other = open(own.store, scripted([]), seen);
    if (verb === "rewind") await other.rewind(thread, { toMessageId: `ask-${verb}` });
    else {
      await other.cancel(id);
      await other.wait(id);
    }
    expect(await load(id)).toMatchObject({ status: "done", ...ON_RECORD, outcome: { termination: { type: "cancelled" } } });
  });

  test("a parent without a root is the root; what cannot be is refused, and leaves nothing", async () => {
    const runtime = open(store, scripted([text("done")]), []);
    await runtime.run({ thread: "plain", runId: "plain", input: "x", trace: { parentRunId: "only" } });
    expect(await load("plain")).toMatchObject({ parentRunId: "only", rootRunId: "only" });
    const refused = { code: "invalid_activation" };
    const request = { thread: "none", runId: "none", input: "x" };
    await expect(runtime.run({ ...request, trace: { rootRunId: "r" } })).rejects.toMatchObject(refused);
    await expect(runtime.run({ ...request, trace: { parentRunId: "none" } })).rejects.toMatchObject(refused);
    await expect(runtime.start({ ...request, trace: { parentRunId: "p", rootRunId: "none" } })).rejects.toMatchObject(refused);
    const unreadable: never = { at: new Date(0) } as never;
    await expect(runtime.run({ ...request, principal: unreadable })).rejects.toMatchObject(refused);
    expect(await load("none")).toBeUndefined();
  });
});
