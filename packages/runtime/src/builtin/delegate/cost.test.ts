import { type JsonObject, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { command } from "../../phase/command.ts";
import { defineState } from "../../state/key.ts";
import { text, toolCall } from "../../testing/script.ts";
import type { ChildResult } from "../../tool/child-result.ts";
import { defineTool } from "../../tool/define-tool.ts";
import { reply } from "../../tool/reply.ts";
import { always, team } from "./team.test-support.ts";

/** A store that says what it is asked for. */
function told(store: QueueStore, asked: string[]): QueueStore {
  const heard = <Port extends object>(port: Port, name: string): Port =>
    new Proxy(port, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key);
        if (typeof value === "object" && value !== null) return heard(value, String(key));
        if (typeof value !== "function" || typeof key !== "string") return value;
        return (...given: readonly unknown[]): unknown => {
          asked.push(name === "" ? key : `${name}.${key}`);
          return Reflect.apply(value, target, given);
        };
      },
    });
  return heard(store, "");
}

const look = defineTool({ id: "look", description: "Looks", input: z.object({}), idempotent: true, execute: () => ({ ok: true }) });

const turns = (tool: string, input: JsonObject) => always(({ role, text: said }) => (role === "tool" ? text(said) : toolCall(tool, input)));

const MEMBERS = {
  alone: { turns: turns("look", {}), spec: { tools: ["look"] } },
  lead: { turns: turns("agent_run_writer", { prompt: "write" }), spec: { delegates: ["writer"], tools: [] } },
  writer: { turns: turns("agent_run_clerk", { prompt: "look" }), spec: { delegates: ["clerk"], tools: [] } },
  clerk: { turns: turns("look", {}), spec: { tools: ["look"] } },
};

async function askedBy(agent: string): Promise<readonly string[]> {
  const asked: string[] = [];
  const { runtime } = team(MEMBERS, { tools: [look], store: told(memoryStore(), asked), workers: false });
  const { status } = await runtime.run({ agent, thread: "t", input: "go" });
  expect(status).toBe("done");
  await runtime.close();
  return asked;
}

const counts = (asked: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(Object.groupBy(asked, (name) => name)).map(([name, all]) => [name, all?.length ?? 0]));

describe("what a run costs that another one asks for", () => {
  test("the store is asked for each of three levels what it is asked for a run of its own, and nothing more", async () => {
    const alone = counts(await askedBy("alone"));
    const three = counts(await askedBy("lead"));
    const { commit = 0, "threads.loadHead": heads = 0, ...rest } = three;
    expect(alone["commit"]).toBeGreaterThan(0);
    expect([commit, heads]).toEqual([3 * (alone["commit"] ?? 0), 3]);
    expect(Object.keys(rest).filter((name) => (rest[name] ?? 0) > (alone[name] ?? 0))).toEqual([]);
  });

  test("what it is told without asking the store is what the records say, and nobody can change them through it", async () => {
    const number = { schema: z.number(), initial: () => 0, apply: (_value: number, next: number) => next };
    const mine = defineState("mine", number);
    const ours = defineState("ours", { ...number, scope: "thread" });
    const note = defineTool({
      id: "note",
      description: "Notes",
      input: z.object({}),
      state: [mine, ours],
      execute: () => reply("noted", { command: command().update(mine, 1).update(ours, 2) }),
    });
    const told: ChildResult[] = [];
    const isFrozen: boolean[] = [];
    const asks = defineTool({
      id: "asks",
      description: "Asks",
      input: z.object({}),
      execute: async (_, { runAgent }) => {
        const result = await runAgent({ agent: "clerk", input: "note it" });
        told.push(result);
        isFrozen.push(...[result.state, result.state?.extensions, result.threadState?.extensions].map(Object.isFrozen));
      },
    });
    const store = memoryStore();
    const { runtime } = team(
      { lead: { turns: turns("asks", {}) }, clerk: { turns: turns("note", {}) } },
      { tools: [asks, note], store, workers: false },
    );
    await runtime.run({ agent: "lead", thread: "t", input: "go" });
    const [result] = told;
    const id = runId(result?.runId ?? "");
    expect(result).toMatchObject({
      status: "done",
      steps: 2,
      state: { extensions: { mine: 1 } },
      threadState: { extensions: { ours: 2 } },
    });
    expect(result?.state).toEqual((await store.runs.load(id))?.state);
    expect(result?.threadState).toEqual((await store.threads.loadHead(threadId(id)))?.state);
    expect(isFrozen).toEqual([true, true, true]);
    await runtime.close();
  });
});
