import { type RunId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { text, toolCall } from "../testing/script.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { open } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

// Somebody has read the record of a run that waits, and before he takes it up, its thread is deleted.

const T = threadId("t");
const pay = defineTool({ id: "pay", description: "Pays", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });

/** Deletes the thread when this run is loaded for the nth time. */
function deletingAt(store: QueueStore, run: RunId, nth: number): QueueStore {
  let left = nth;
  const load: QueueStore["runs"]["load"] = async (id) => {
    if (id === run && --left === 0) await store.threads.delete(T, "detach");
    return store.runs.load(id);
  };
  const runs = new Proxy(store.runs, { get: (target, name) => (name === "load" ? load : Reflect.get(target, name, target)) });
  return new Proxy(store, { get: (target, name) => (name === "runs" ? runs : Reflect.get(target, name, target)) });
}

describe.each(STORES)("a run that is deleted when somebody is about to take it up, on %s", (_, make) => {
  async function waiting(store: QueueStore) {
    await using runtime = open(store, [toolCall("pay", {})], { tools: [pay], workers: false });
    const result = await runtime.run({ thread: T, input: "pay" });
    return { runId: result.runId, ticket: ticketsOf(result)[0]?.id ?? "" };
  }

  test.each(["cancel", "cancelAndWait"] as const)("%s finds nothing to stop", async (verb) => {
    await using store = make();
    const { runId } = await waiting(store);
    await using runtime = open(deletingAt(store, runId, 1), [], { tools: [pay], workers: false });
    expect(await runtime[verb]("t")).toBe(false);
    expect(await store.threads.load(T)).toBeUndefined();
  });

  test("whoever decides is told that it is not there", async () => {
    await using store = make();
    const { runId, ticket } = await waiting(store);
    await using runtime = open(deletingAt(store, runId, 1), [text("done")], { tools: [pay], workers: false });
    await expect(runtime.decide(ticket, { action: "approve" })).rejects.toMatchObject({ code: "run_not_found" });
    expect(await store.threads.load(T)).toBeUndefined();
  });
});
