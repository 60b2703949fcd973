import { isJsonObject, type JsonValue, type Message, messageText, messageToolCalls } from "@awaken/contract";
import { type ScriptedTurn, text, toolCalls } from "@awaken/runtime/testing";
import type { Random } from "../../inference/support/random.ts";

// What a message asks for is written in it, so that any process can go on with it, however often it is asked.

/** What a call is for; the comment says who answers it. */
export const TOOLS = {
  look: "look", // pure
  repeat: "repeat", // idempotent
  fire: "fire", // nobody knows, when it was cut off
  find: "find", // can be asked what became of it
  sign: "sign", // asks first
  page: "page", // the page of whoever started the run
  delegate: "agent_run_worker",
  guest: "agent_run_guest", // an agent that comes and goes
  hire: "hire", // an agent in the background
  code: "code", // code in the background
  handoff: "handoff",
  review: "review", // code that runs an agent, and waits with it
  tell: "send_message",
  absent: "absent", // is not there
} as const;

export type ToolKey = keyof typeof TOOLS;

interface Call {
  readonly tool: ToolKey;
  readonly plan?: Plan;
}

export interface Plan {
  /** Of the message: calls have their ids by it. */
  readonly order: string;
  readonly steps: readonly (readonly Call[])[];
}

/** Threads: those that are only started on, those where people talk and decide, those where they also cancel, and those that are deleted. */
export type Kind = "line" | "desk" | "wild" | "gone";

const DESK = ["look", "repeat", "fire", "find", "sign", "page", "delegate", "guest", "hire", "code", "handoff", "review", "tell"] as const;

const CALLS: Readonly<Record<Kind, readonly [ToolKey, ...ToolKey[]]>> = {
  line: ["look", "repeat", "fire", "find", "delegate", "handoff", "look", "repeat", "absent"],
  desk: [...DESK, "sign", "delegate"],
  wild: [...DESK, "sign", "delegate", "hire"],
  gone: ["look", "repeat", "sign", "delegate", "hire", "code", "review"],
};

const ASKS_AN_AGENT: ReadonlySet<ToolKey> = new Set(["delegate", "guest", "hire", "review"]);

export function makePlan(numbers: Random, kind: Kind, order: string, depth = 0): Plan {
  const callAt = (at: string): Call => {
    const tool = numbers.pick(CALLS[kind]);
    if (depth > 0 && tool === "handoff") return { tool: "repeat" };
    if (!ASKS_AN_AGENT.has(tool)) return { tool };
    return depth > 1 ? { tool: "look" } : { tool, plan: makePlan(numbers, kind, at, depth + 1) };
  };
  const length = depth > 1 ? 1 : numbers.below(3) + (depth === 0 ? 0 : 1);
  const steps = Array.from({ length }, (_, nth) =>
    Array.from({ length: 1 + numbers.below(2) }, (_, slot) => callAt(`${order}/${nth}/${slot}`)),
  );
  return { order, steps };
}

export const planText = (plan: Plan): string => JSON.stringify(plan);

const BEGIN = '{"order":';

function plansIn(message: Message): readonly Plan[] {
  const said = message.role === "user" ? messageText(message) : "";
  return said.startsWith(BEGIN) ? [JSON.parse(said)] : [];
}

export const orderIn = (input: JsonValue): string => String(isJsonObject(input) ? input["order"] : "");

function inputOf({ tool, plan }: Call, order: string, isOther: boolean): JsonValue {
  const prompt = planText(plan ?? { order, steps: [] });
  if (tool === "delegate" || tool === "guest") return { prompt };
  if (tool === "hire" || tool === "review") return { order, prompt };
  if (tool === "handoff") return { agent: isOther ? "lead" : "other" };
  if (tool === "tell") return { target: "parent", message: order };
  return { order };
}

/** The turn that follows from the conversation alone: the first calls of its plans that have no result. */
export function nextTurn(messages: readonly Message[], other: string): ScriptedTurn {
  const last = messages.findLastIndex((message) => message.role === "assistant" && messageToolCalls(message).length === 0);
  const stretch = messages.slice(last + 1);
  const asked = new Set(
    stretch.flatMap((message) => (message.role === "assistant" ? messageToolCalls(message).map(({ id }) => String(id)) : [])),
  );
  const done = new Set(stretch.flatMap((message) => (message.role === "tool" ? [String(message.toolCallId)] : [])));
  const isOther = messages.some((message) => message.role === "system" && messageText(message).includes(other));
  const plans = stretch.flatMap(plansIn);
  for (const { order, steps } of plans) {
    for (const [nth, calls] of steps.entries()) {
      const due = calls.map((call, slot) => ({ call, id: `${order}/${nth}/${slot}` })).filter(({ id }) => !asked.has(id) || !done.has(id));
      if (due.length === 0) continue;
      const list = due.map(({ call, id }) => ({ name: TOOLS[call.tool], input: inputOf(call, id, isOther), id }));
      return toolCalls(list, { say: `step ${nth}` });
    }
  }
  return text("done ", ...plans.map(({ order }) => `${order} `));
}
