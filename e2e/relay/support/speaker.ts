import { type InferenceRequest, type Message, messageText, type Provider } from "@awaken/contract";
import { ask, createRuntime, defineTool, type Runtime, type RuntimeInit } from "@awaken/runtime";
import { parts, type ScriptedTurn, scripted, text, toolCalls } from "@awaken/runtime/testing";
import * as z from "zod";

// An agent whose turns are spelled in what it is asked: any process can go on with it.

const wait = (ms: number) => ({ type: "wait", ms }) as const;
const say = (delta: string) => ({ type: "text-delta", delta }) as const;
const END = [
  { type: "usage", usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 } },
  { type: "stop", reason: "end-turn" },
] as const;

const WORDS = ["one ", "two ", "three ", "äöü 😀 ", "five."];

/** Turns by their names, which a request lists: `say effect approve say`. */
const TURNS: Readonly<Record<string, (nth: string) => ScriptedTurn>> = {
  say: () => parts(...WORDS.flatMap((word) => [say(word), wait(1)]), ...END),
  slow: () => parts(...WORDS.flatMap((word) => [say(word), wait(200)]), ...END),
  think: () =>
    parts(
      { type: "reasoning-delta", delta: "hm, " },
      wait(1),
      { type: "reasoning-delta", delta: "well" },
      { type: "block-end", signature: "sig" },
      say("So."),
      ...END,
    ),
  look: (nth) =>
    toolCalls(
      [
        { id: `${nth}-a`, name: "look", input: { n: 1 } },
        { id: `${nth}-b`, name: "look", input: { n: 2 } },
      ],
      { say: "Let me look. " },
    ),
  effect: (nth) => toolCalls([{ id: `${nth}-e`, name: "effect", input: { n: 3 } }]),
  approve: (nth) =>
    toolCalls([
      { id: `${nth}-p`, name: "approve", input: { n: 4 } },
      { id: `${nth}-l`, name: "look", input: { n: 5 } },
    ]),
  cut: () => parts(say("Lost "), wait(1), { type: "throw", error: new Error("connection reset") }),
  fail: () => parts(say("I begin, "), wait(1), { type: "throw", error: new Error("400 bad request") }),
};

const n = z.object({ n: z.number() });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Whoever wants to know from outside what was done is told. */
const toolsOf = (note: (line: string) => void) => [
  defineTool({
    id: "look",
    description: "Looks",
    input: n,
    pure: true,
    async execute(input, ctx) {
      ctx.output(`looking ${input.n}`);
      await pause(1);
      return { seen: input.n };
    },
  }),
  defineTool({
    id: "effect",
    description: "Changes the world",
    input: n,
    idempotent: true,
    async execute({ n: what }) {
      note(`effect ${what}`);
      await pause(2);
      return `done ${what}`;
    },
  }),
  defineTool({
    id: "approve",
    description: "Asks first",
    input: n,
    approve: () => ask("May I?"),
    execute({ n: what }) {
      note(`approved ${what}`);
      return { allowed: what };
    },
  }),
];

/** The turn that comes next: the names are in the newest user message, and each answer since used one up. */
function nextTurn({ messages }: InferenceRequest): ScriptedTurn {
  const last = messages.findLastIndex((message: Message) => message.role === "user" && message.visibility === undefined);
  const asked = messages[last];
  const names = asked === undefined ? [] : messageText(asked).split(" ");
  const used = messages.slice(last + 1).filter(({ role }) => role === "assistant").length;
  const make = TURNS[names[used] ?? ""];
  return make === undefined ? text("That is all.") : make(`${messages.length}`);
}

/** A model that never runs out of turns. */
export const speaker = (turn: (request: InferenceRequest) => ScriptedTurn = nextTurn): Provider => ({
  name: "speaker",
  stream: (request, options) => scripted([turn]).stream(request, options),
});

export const quiet = { warn() {}, error() {} };

export function openNode(store: RuntimeInit["store"], init: Partial<RuntimeInit> = {}, note: (line: string) => void = () => {}): Runtime {
  return createRuntime({
    providers: { house: speaker() },
    models: { fast: { provider: "house", model: "fast-1" } },
    agents: { assistant: { model: "fast" } },
    tools: toolsOf(note),
    log: quiet,
    ...(store === undefined ? undefined : { store }),
    ...init,
  });
}
