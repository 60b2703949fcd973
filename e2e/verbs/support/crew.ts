import type { InferenceRequest, Provider, StreamPart } from "@awaken/contract";
import { ask, definePlugin, defineTool, type RuntimeInit, type Tool, wait } from "@awaken/runtime";
import { cut, failure, type ScriptedTurn, scripted } from "@awaken/runtime/testing";
import * as z from "zod";
import { nextTurn, TOOLS, type ToolKey } from "./plans.ts";
import type { Lane } from "./scheduler.ts";

/** One execution of a tool, as the outside saw it. */
export interface Execution {
  readonly tool: ToolKey;
  /** The call. */
  readonly order: string;
  readonly key: string;
  readonly node: string;
  readonly at: number;
}

/** What agents have in common with the world outside. */
export interface World {
  readonly executions: Execution[];
  /** How often models, tools and hooks fail, from 0 to 1: changed while they are used. */
  trouble: number;
}

const OTHER = "You are the OTHER one";

function troubled(turn: ScriptedTurn, world: World, { scheduler: { numbers } }: Lane): ScriptedTurn {
  if (numbers.next() >= world.trouble) return turn;
  const roll = numbers.below(10);
  if (roll < 4) return cut(turn, numbers.below(turn.items.length));
  if (roll < 7) return failure("overloaded");
  return roll < 9 ? failure("stream-interrupted") : failure("unauthorized");
}

/** Each part of an answer comes when the scheduler says so. */
async function* held(parts: ReturnType<Provider["stream"]>, lane: Lane, signal: AbortSignal): AsyncGenerator<StreamPart> {
  await lane.hold("model opens");
  for await (const part of await parts) {
    if (!signal.aborted && lane.scheduler.numbers.below(2) === 0) await lane.hold("model says");
    yield part;
  }
}

const provider = (world: World, lane: Lane): Provider => ({
  name: "obedient",
  stream(request: InferenceRequest, options) {
    const turn = troubled(nextTurn(request.messages, OTHER), world, lane);
    return held(scripted([turn], { clock: lane.clock }).stream(request, options), lane, options.signal);
  },
});

const input = z.object({ order: z.string() });
const asked = z.object({ order: z.string(), prompt: z.string() });

/** Tools that touch the world. */
function handTools(world: World, lane: Lane): readonly Tool[] {
  const { numbers } = lane.scheduler;
  const happen =
    (tool: ToolKey) =>
    async ({ order }: { order: string }, { idempotencyKey: key }: { idempotencyKey: string }) => {
      world.executions.push({ tool, order, key, node: lane.name, at: lane.clock.now() });
      await lane.hold(`${tool} ${order}`);
      if (numbers.below(4) === 0) await lane.sleep(numbers.below(60));
      if (numbers.next() < world.trouble / 4) throw new Error("the tool failed");
      return { order };
    };
  const tool = (key: ToolKey) => ({ id: TOOLS[key], description: "Does something", input, execute: happen(key) });
  return [
    defineTool({ ...tool("look"), pure: true }),
    defineTool({ ...tool("repeat"), idempotent: true }),
    defineTool(tool("fire")),
    defineTool({
      ...tool("find"),
      reconcile: (_, { idempotencyKey }) =>
        world.executions.some(({ key }) => key === idempotencyKey) ? { type: "done", data: "found" } : { type: "not-done" },
    }),
    defineTool({ ...tool("sign"), approve: () => ask("May it?") }),
  ];
}

/** Tools that ask others. */
function askTools(lane: Lane): readonly Tool[] {
  const { numbers } = lane.scheduler;
  return [
    defineTool({
      ...{ id: TOOLS.hire, description: "Hires", input: asked, idempotent: true },
      execute: async ({ prompt }, { tasks }) => {
        await tasks.spawnAgent({ agent: "worker", input: prompt });
        return "hired";
      },
    }),
    defineTool({
      ...{ id: TOOLS.code, description: "Starts code", input, idempotent: true },
      execute: async ({ order }, { tasks }) => {
        await tasks.spawn({ description: order }, async ({ signal, emit }) => {
          await lane.hold("code");
          await lane.sleep(numbers.below(80));
          if (numbers.below(4) === 0) emit("half", { order });
          signal.throwIfAborted();
          if (numbers.below(5) === 0) throw new Error("code failed");
          return order;
        });
        return "begun";
      },
    }),
    defineTool({
      ...{ id: TOOLS.review, description: "Reviews", input: asked, idempotent: true },
      execute: async ({ prompt }, ctx) => {
        if (ctx.resume?.decision.action === "answer") return ctx.resume.decision.result;
        const result = await ctx.runAgent({ agent: "clerk", input: prompt });
        return result.status === "waiting" ? wait(result.suspension) : result.text;
      },
    }),
  ];
}

export const FRONTEND = [
  {
    ...{ id: TOOLS.page, description: "Of the page" },
    parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  },
];

const PHASES = ["runStart", "stepStart", "beforeInference", "afterInference", "beforeToolExecute", "afterToolExecute", "stepEnd"] as const;

const moody = (world: World, lane: Lane) =>
  definePlugin({
    id: "moody",
    register(r) {
      for (const phase of PHASES)
        r.hook(phase, async () => {
          if (lane.scheduler.numbers.below(12) === 0) await lane.hold(`hook of ${phase}`);
          if (lane.scheduler.numbers.next() < world.trouble / 30) throw new Error(`moody in ${phase}`);
          return undefined;
        });
    },
  });

const REST = { model: "m", maxSteps: 60, plugins: ["moody"], sections: { retry: { backoffBaseMs: 5, overloadedBackoffBaseMs: 10 } } };

/** While the guest is there. */
export const AGENTS = {
  // Who answers what is sent where nobody was asked yet.
  default: { ...REST, delegates: ["worker"] },
  lead: { ...REST, delegates: ["worker", "guest"], handoffs: ["other"] },
  other: { ...REST, instructions: OTHER, delegates: ["worker", "guest"], handoffs: ["lead"] },
  worker: { ...REST, description: "Works", delegates: ["guest"] },
  clerk: { ...REST, description: "Clerk" },
  guest: { ...REST, description: "Comes and goes" },
};

/** While he is not. */
export const WITHOUT_GUEST = {
  ...AGENTS,
  lead: { ...AGENTS.lead, delegates: ["worker"] },
  other: { ...AGENTS.other, delegates: ["worker"] },
  worker: { ...AGENTS.worker, delegates: [] },
};

export const crewInit = (world: World, lane: Lane): RuntimeInit => ({
  providers: { obedient: provider(world, lane) },
  models: { m: { provider: "obedient", model: "m" } },
  plugins: [moody(world, lane)],
  agents: AGENTS,
  tools: [...handTools(world, lane), ...askTools(lane)],
  streamCheckpoints: true,
});
