import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { type InferenceRequest, type Message, messageText, type Provider } from "@awaken/contract";
import { ask, createRuntime, defineTool, type Runtime, type RuntimeInit, suspend, type Tool } from "@awaken/runtime";
import { failure, parts, type ScriptedTurn, scripted, text, toolCalls } from "@awaken/runtime/testing";
import * as z from "zod";
import { quiet } from "../../relay/support/speaker.ts";

// An agent for pages: its turns are spelled in what it is asked, so that any process can go on with it.

const say = (delta: string) => ({ type: "text-delta", delta }) as const;
const wait = (ms: number) => ({ type: "wait", ms }) as const;
const END = [
  { type: "usage", usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 } },
  { type: "stop", reason: "end-turn" },
] as const;
const WORDS = ["one ", "two ", "three ", "four ", "five."];

const TURNS: Readonly<Record<string, (nth: string) => ScriptedTurn>> = {
  say: () => parts(...WORDS.map(say), ...END),
  slow: () => parts(...WORDS.flatMap((word) => [say(word), wait(150)]), ...END),
  /** Until it is told to leave off. */
  endless: () => parts(say("one "), wait(3_600_000), ...END),
  mute: () => parts(wait(3_600_000), ...END),
  think: () =>
    parts(
      { type: "reasoning-delta", delta: "hm, " },
      { type: "reasoning-delta", delta: "well" },
      { type: "block-end", signature: "sig" },
      say("So."),
      ...END,
    ),
  look: (nth) => toolCalls([{ id: `${nth}-look`, name: "look", input: { n: 1 } }], { say: "Let me look. " }),
  /** A tool that the test brings. */
  own: (nth) => toolCalls([{ id: `${nth}-own`, name: "own", input: { of: "sky" } }]),
  pay: (nth) => toolCalls([{ id: `${nth}-pay`, name: "pay", input: { amount: 120 } }]),
  two: (nth) =>
    toolCalls([
      { id: `${nth}-p1`, name: "pay", input: { amount: 1 } },
      { id: `${nth}-p2`, name: "pay", input: { amount: 2 } },
    ]),
  brief: (nth) => toolCalls([{ id: `${nth}-brief`, name: "brief", input: {} }]),
  pick: (nth) => toolCalls([{ id: `${nth}-pick`, name: "pick_color", input: { of: "sky" } }]),
  both: (nth) =>
    toolCalls([
      { id: `${nth}-pick`, name: "pick_color", input: { of: "sky" } },
      { id: `${nth}-pay`, name: "pay", input: { amount: 7 } },
    ]),
  delegate: (nth) => toolCalls([{ id: `${nth}-d`, name: "agent_run_clerk", input: { prompt: "pay say" } }]),
  /** A delegate that has the tool that the test brings. */
  entrust: (nth) => toolCalls([{ id: `${nth}-e`, name: "agent_run_clerk", input: { prompt: "own say" } }]),
  fail: () => failure("unauthorized", "the key was refused"),
};

/** What the page showed, as the model read it. */
const contextIn = (messages: readonly Message[]): string =>
  messages.flatMap((message) => (message.role === "system" ? [messageText(message)] : [])).join("|");

function nextTurn({ messages }: InferenceRequest): ScriptedTurn {
  const last = messages.findLastIndex(({ role, visibility }) => role === "user" && visibility === undefined);
  const asked = messages[last];
  const names = asked === undefined ? [] : messageText(asked).split(" ");
  const used = messages.slice(last + 1).filter(({ role }) => role === "assistant").length;
  const name = names[used] ?? "";
  if (name === "context") return text(contextIn(messages));
  // What the model is told of the last call.
  if (name === "tell") return text(messageText(messages.at(-1) ?? ({ id: asked?.id, role: "user", content: [] } as Message)));
  return TURNS[name]?.(`${messages.length}`) ?? text("That is all.");
}

const model: Provider = { name: "pages", stream: (request, options) => scripted([nextTurn]).stream(request, options) };

/** What tools did, outside of every store. */
export const journalOf = (file: string): readonly string[] =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    : [];

const toolsOf = (journal: string | undefined) => {
  const note = (line: string) => void (journal === undefined ? undefined : appendFileSync(journal, `${line}\n`));
  return [
    defineTool({ id: "look", description: "Looks", input: z.object({ n: z.number() }), pure: true, execute: ({ n }) => ({ seen: n }) }),
    defineTool({
      id: "brief",
      description: "Asks, and does not wait for long",
      input: z.object({}),
      approve: () => suspend({ action: "approve", message: "Now?", expiresInMs: 50 }),
      execute() {
        note("was brief");
        return "done";
      },
    }),
    defineTool({
      id: "pay",
      description: "Pays",
      input: z.object({ amount: z.number() }),
      approve: ({ amount }) => ask(`Pay ${amount}?`),
      execute({ amount }) {
        note(`paid ${amount}`);
        return { paid: amount };
      },
    }),
  ];
};

export interface AgentInit extends Partial<Omit<RuntimeInit, "tools">> {
  /** Where tools write what they did. */
  readonly journal?: string;
  /** Offered beside those that it has. */
  readonly tools?: readonly Tool[];
}

export function openAgent(store: RuntimeInit["store"], { journal, tools = [], ...init }: AgentInit = {}): Runtime {
  const offered = tools.map(({ id }) => id);
  const plugins = (init.plugins ?? []).map(({ id }) => id);
  return createRuntime({
    providers: { house: model },
    models: { fast: { provider: "house", model: "fast-1" } },
    agents: {
      assistant: { model: "fast", tools: ["look", "pay", "brief", ...offered], delegates: ["clerk"], plugins },
      clerk: { model: "fast", tools: ["pay", ...offered], description: "Pays", plugins },
    },
    tools: [...toolsOf(journal), ...tools],
    log: quiet,
    ...(store === undefined ? undefined : { store }),
    ...init,
  });
}
