import type { InferenceRequest, Provider } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import type { RegistrySnapshot } from "../registry/registry-snapshot.ts";
import { defineTool } from "../tool/define-tool.ts";

const RUNS = 50;
const EDITS = 200;
const STEPS = 4;
const AGENTS = ["a0", "a1", "a2", "a3", "a4"] as const;

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

interface Seen {
  readonly provider: string;
  readonly model: string;
  readonly system: string;
}

/** A provider that writes down who asked it what, and calls a tool a few times before it answers. */
function provider(tag: string, seen: Map<string, Seen[]>): Provider {
  return {
    name: tag,
    async *stream({ routing, model, system, messages }: InferenceRequest) {
      const list = seen.get(routing?.threadId ?? "") ?? [];
      seen.set(routing?.threadId ?? "", [...list, { provider: tag, model, system }]);
      for (let wait = 0; wait < 3; wait++) await tick();
      const calls = messages.filter((message) => message.role === "tool").length;
      if (calls < STEPS - 1) {
        yield { type: "tool-call-start", id: `c${calls}`, name: "look" };
        yield { type: "stop", reason: "tool-use" };
        return;
      }
      yield { type: "text-delta", delta: `${tag} ${system}` };
      yield { type: "stop", reason: "end-turn" };
    },
  };
}

const look = defineTool({ id: "look", description: "", input: z.object({}), execute: () => tick().then(() => "seen") });

/** What a run of this agent has to see, if it starts now. */
function expected({ registries }: RegistrySnapshot, agentId: string): Seen {
  const agent = registries.agents.get(agentId);
  const model = agent?.type === "local" ? registries.models.get(agent.model) : undefined;
  const entry = registries.providers.get(model?.provider ?? "");
  if (agent?.type !== "local" || model === undefined || entry === undefined) throw new Error(`no ${agentId}`);
  return { provider: entry.provider.name, model: model.model, system: agent.instructions };
}

describe("hot swap", () => {
  it("50 runs in flight, 200 edits meanwhile: each run ends on the snapshot that it started with, new runs see the newest", async () => {
    const seen = new Map<string, Seen[]>();
    const runtime = createRuntime({
      providers: { p0: provider("p0", seen), p1: provider("p1", seen), doomed: provider("doomed", seen) },
      models: {
        m0: { provider: "p0", model: "m0" },
        m1: { provider: "p1", model: "m1" },
        last: { provider: "doomed", model: "last" },
      },
      agents: Object.fromEntries(
        AGENTS.map((id, index) => [id, { model: ["m0", "m1", "last"][index % 3] ?? "m0", instructions: `${id} v0` }]),
      ),
      tools: [look],
      store: memoryStore(),
      log: { warn() {}, error() {} },
    });
    const { registry } = runtime;

    const edit = (count: number): void => {
      const agent = AGENTS[count % AGENTS.length] ?? "a0";
      switch (count % 4) {
        case 0:
          registry.update((draft) => {
            const model = count % 3 === 0 ? "m1" : "m0";
            draft.agents[agent] = { model, instructions: `${agent} v${count}` };
          });
          break;
        case 1:
          registry.update((draft) => {
            draft.models["m0"] = { provider: count % 8 === 1 ? "p1" : "p0", model: `m0-${count}` };
          });
          break;
        case 2:
          registry.replaceProvider("p1", provider(`p1@${count}`, seen));
          break;
        default:
          registry.replaceProvider("p0", provider(`p0@${count}`, seen));
      }
    };

    let finished = 0;
    const expectations = new Map<string, Seen>();
    const results: Promise<{ readonly text: string; readonly status: string }>[] = [];
    const start = (index: number): void => {
      const [agent, thread] = [AGENTS[index % AGENTS.length] ?? "a0", `t${index}`];
      expectations.set(thread, expected(registry.snapshot(), agent));
      results.push(
        runtime.run({ agent, thread, input: "go" }).finally(() => {
          finished += 1;
        }),
      );
    };

    for (let index = 0; index < RUNS / 2; index++) start(index);
    for (let count = 0; count < EDITS; count++) {
      edit(count);
      if (count === 100) {
        registry.update((draft) => {
          for (const id of AGENTS) draft.agents[id] = { model: "m1", instructions: `${id} moved` };
        });
        expect(registry.removeProvider("doomed", "cascade-unused-model-bindings")).toMatchObject({ removedModelIds: ["last"] });
      }
      if (count % 8 === 0 && results.length < RUNS) start(results.length);
      if (count % 20 === 0) await tick();
    }
    expect([results.length, finished]).toEqual([RUNS, 0]);
    expect(registry.version).toBe(1 + EDITS + 2);

    for (const result of await Promise.all(results)) expect(result.status).toBe("done");
    for (const [thread, expectation] of expectations)
      expect(seen.get(thread), thread).toEqual(Array.from({ length: STEPS }, () => expectation));
    expect([...seen.values()].flat().some((request) => request.provider === "doomed")).toBe(true);

    const newest = expected(registry.snapshot(), "a3");
    const { text } = await runtime.run({ agent: "a3", thread: "new", input: "go" });
    expect(text).toBe(`${newest.provider} ${newest.system}`);
    expect(seen.get("new")).toEqual(Array.from({ length: STEPS }, () => newest));
  });
});
