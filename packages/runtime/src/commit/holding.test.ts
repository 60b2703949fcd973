import { AwakenError, dispatchId, messageText, runId, threadId } from "@awaken/contract";
import type { CommitResult, Fence, Outbound, PendingRecord, ThreadCommit } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { runScripted, userMessage } from "../testing/run-scripted.ts";
import { text, toolCall } from "../testing/script.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import type { CommitStore } from "./commit-store.ts";
import type { Departure, Holding, Riders } from "./holding.ts";

type MemoryStore = ReturnType<typeof memoryStore>;

const THREAD = threadId("thread");
const DISPATCH = dispatchId("d1");
const noop = defineTool({ id: "noop", description: "", input: z.object({}), execute: () => null });

/** Holds the thread as a caller that streams does: the first commit claims it, the last one acknowledges. */
class Streaming implements Holding {
  readonly hasMail = true;
  readonly departures: Departure[] = [];
  readonly results: (CommitResult | undefined)[] = [];
  readonly commits: ThreadCommit[] = [];
  outbound: readonly Outbound[] = [];
  readonly #store: MemoryStore;
  #fence: Fence | undefined;

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  riders(departure: Departure): Riders {
    this.departures.push(departure);
    const { run, isFirst, result, runId: id } = departure;
    const takes = run?.status === "done" && this.results.some((landed) => landed?.hasWishes) ? { takes: ["stop"] } : undefined;
    const outbound = this.outbound.length === 0 ? undefined : { outbound: this.outbound };
    const others = { ...takes, ...outbound };
    if (isFirst) {
      const dispatch = { dispatchId: DISPATCH, threadId: THREAD, runId: id };
      return { dispatch: { type: "enqueue-claimed", dispatch, claim: { consumer: "here", leaseMs: 60_000 } }, ...others };
    }
    const fence = this.#fence === undefined ? undefined : { fence: this.#fence };
    return { ...fence, ...others, ...(result === undefined ? undefined : { dispatch: { type: "ack", result } }) };
  }

  async landed(commit: ThreadCommit, result: CommitResult | undefined): Promise<void> {
    this.commits.push(commit);
    this.results.push(result);
    if (commit.outbound !== undefined) this.outbound = [];
    const dispatch = result === undefined ? await this.#store.dispatches.load(DISPATCH) : result.dispatch;
    if (dispatch?.status === "claimed") this.#fence = { dispatchId: DISPATCH, claimToken: dispatch.claimToken };
  }

  async waiting(): Promise<readonly PendingRecord[]> {
    return (await this.#store.pending.load(THREAD)).entries.filter(({ deliveryMode }) => deliveryMode.boundary === "next-step");
  }
}

const steer = (id: string) => ({ message: userMessage(id, id), deliveryMode: { boundary: "next-step" } as const });

/** The store, with somebody who is asked before each commit. */
const before = (store: MemoryStore, see: (commit: ThreadCommit) => Promise<void>): CommitStore => {
  const commit: CommitStore["commit"] = async (given) => {
    await see(given);
    return store.commit(given);
  };
  const { runs, messages } = store;
  return { runs, messages, commit, transaction: (work) => work({ runs, commit }) };
};

describe("what rides in the commits of a run", () => {
  it("the first commit claims, every later one shows the fence, the last one acknowledges with the result", async () => {
    const store = memoryStore();
    const holding = new Streaming(store);
    holding.outbound = [{ id: "o1", threadId: threadId("other"), pending: [{ message: userMessage("psst", "psst") }] }];
    const { result } = await runScripted({ turns: [toolCall("noop", {}), text("done")], tools: [noop], store, holding });
    expect(result.status).toBe("done");
    const kinds = holding.commits.map(({ dispatch, fence }) => [dispatch?.type, fence !== undefined]);
    expect(kinds[0]).toEqual(["enqueue-claimed", false]);
    expect(kinds.slice(1, -1).every(([type, isFenced]) => type === undefined && isFenced === true)).toBe(true);
    expect(kinds.at(-1)).toEqual(["ack", true]);
    expect(holding.departures.map(({ result: leaves }) => leaves?.type)).toEqual([undefined, undefined, "done"]);
    const dispatch = await store.dispatches.load(DISPATCH);
    // The answer stands in the record of the run, and not here again.
    expect(dispatch).toMatchObject({ status: "acked", echo: { result: { type: "done", termination: { type: "natural-end" } } } });
    expect(JSON.stringify(dispatch)).not.toContain("response");
    expect((await store.pending.load(threadId("other"))).entries.map(({ pendingId }) => pendingId)).toEqual(["psst"]);
  });

  it("a run that waits leaves with a waiting result, and says so once", async () => {
    const store = memoryStore();
    const holding = new Streaming(store);
    const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => null });
    await runScripted({ turns: [toolCall("pay", {})], tools: [pay], store, holding });
    const leaving = holding.departures.filter(({ result }) => result !== undefined);
    expect(leaving).toMatchObject([{ run: { status: "waiting" }, result: { type: "waiting", termination: { type: "suspended" } } }]);
    const early = holding.departures.filter(({ result }) => result === undefined);
    expect(early.map(({ run }) => run?.status)).toEqual(early.map(() => "running"));
  });

  it("server-and-durability 53: what waits in the queue enters in one commit with the run, which answers it from then on", async () => {
    const store = memoryStore();
    const holding = new Streaming(store);
    const note = defineTool({
      id: "note",
      description: "",
      input: z.object({}),
      execute: async () => {
        await store.pending.append(THREAD, [steer("one"), steer("two")]);
        return null;
      },
    });
    const { model } = await runScripted({ turns: [toolCall("note", {}), text("done")], tools: [note], store, holding });
    expect(model?.requests[1]?.messages.slice(-2).map(messageText)).toEqual(["one", "two"]);
    const taking = holding.commits.filter(({ pending }) => pending?.consume !== undefined);
    expect(taking).toMatchObject([
      { pending: { consume: { boundary: "next-step", entries: [{ pendingId: "one" }, { pendingId: "two" }] } } },
    ]);
    expect(taking[0]?.run?.input.triggerMessageIds.slice(-2)).toEqual(["one", "two"]);
    expect((await store.pending.load(THREAD)).entries).toEqual([]);
  });

  it("server-and-durability 55: after a selection conflict the run answers what was committed, and no phantom", async () => {
    const store = memoryStore();
    const holding = new Streaming(store);
    const note = defineTool({
      id: "note",
      description: "",
      input: z.object({}),
      execute: async () => {
        await store.pending.append(THREAD, [steer("one"), steer("two")]);
        return null;
      },
    });
    let tries = 0;
    const racing = before(store, async ({ pending }) => {
      if (pending?.consume === undefined) return;
      tries += 1;
      if (tries === 1) await store.pending.retract(THREAD, userMessage("one", "one").id, 1);
    });
    const { model } = await runScripted({ turns: [toolCall("note", {}), text("done")], tools: [note], store: racing, holding });
    expect(tries).toBe(2);
    expect(messageText(model?.requests[1]?.messages.at(-1) ?? userMessage("", "none"))).toBe("two");
    const run = await store.runs.load(holding.commits[0]?.runId ?? runId("none"));
    expect(run?.input.triggerMessageIds.slice(1)).toEqual(["two"]);
  });

  it("wishes that come meanwhile are told, and the commit that follows them takes them", async () => {
    const store = memoryStore();
    const holding = new Streaming(store);
    const wish = defineTool({
      id: "wish",
      description: "",
      input: z.object({}),
      execute: async () => {
        const target = { threadId: THREAD, runId: holding.commits[0]?.runId ?? runId("none") };
        await store.wishes.append({ type: "cancel", wishId: "stop", ...target });
        return null;
      },
    });
    await runScripted({ turns: [toolCall("wish", {}), text("done")], tools: [wish], store, holding });
    expect(holding.results.map((result) => result?.hasWishes)).toEqual([false, true, false]);
    expect(await store.wishes.load("stop")).toMatchObject({ takenAt: expect.any(Number) });
  });

  it("a lost answer is looked up: who holds the thread hears that it landed, without a result", async () => {
    const store = memoryStore();
    const holding = new Streaming(store);
    let commits = 0;
    const { runs, messages } = store;
    const commit: CommitStore["commit"] = async (given) => {
      const result = await store.commit(given);
      commits += 1;
      if (commits === 1) throw new AwakenError("commit_unknown", "the answer was lost");
      return result;
    };
    const lossy: CommitStore = { runs, messages, commit, transaction: (work) => work({ runs, commit }) };
    const { result } = await runScripted({ turns: [text("done")], store: lossy, holding });
    expect(result.status).toBe("done");
    expect(holding.results.map((landed) => landed === undefined)).toEqual([true, false]);
    expect(holding.commits.at(-1)?.fence).toBeDefined();
    expect(await store.dispatches.load(DISPATCH)).toMatchObject({ status: "acked" });
  });

  it("server-and-durability 26: a fence that is lost ends the run, and nothing more is written", async () => {
    const store = memoryStore();
    const holding = new Streaming(store);
    const lose = defineTool({
      id: "lose",
      description: "",
      input: z.object({}),
      execute: async () => {
        await store.dispatches.interrupt(THREAD);
        return null;
      },
    });
    const { result } = await runScripted({ turns: [toolCall("lose", {}), text("done")], tools: [lose], store, holding });
    expect(result.termination).toMatchObject({ type: "error", code: "fence_lost" });
    expect(holding.commits).toHaveLength(1);
  });
});
