import { type InferenceRequest, type Message, messageText } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import {
  ask,
  command,
  createRuntime,
  definePlugin,
  defineState,
  defineTool,
  type Runtime,
  type RuntimeInit,
  suspend,
  type Tool,
  wait,
} from "@awaken/runtime";
import { type ScriptedTurn, scripted, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import * as z from "zod";

// The agents whose records are in the corpus. Whoever finishes their runs has the same agents, in the code of its own time.

/** What happened outside, by the key of the effect. */
export type World = Map<string, { readonly tool: string; readonly order: string }>;

export const QUESTIONS = {
  approvals: "Pay, paint and visit.",
  cut: "Order four things.",
  long: `Remember this: ${"the harbour is open from six to nine. ".repeat(130)}`,
  short: "And what do you know now?",
} as const;

export const ANSWERS = { approvals: "All three are settled.", cut: "All four are ordered.", long: "Noted.", short: "Harbours." } as const;

const SUMMARY = "The user told when the harbour is open.";

function answer({ messages, tools }: InferenceRequest): ScriptedTurn {
  // Only the summariser has no tools.
  if (tools.length === 0) return text(SUMMARY);
  const asked = messages.findLastIndex((message) => message.role === "user");
  const step = messages.slice(asked).filter((message) => message.role === "assistant").length;
  return turnOf(messages[asked], step);
}

function turnOf(question: Message | undefined, step: number): ScriptedTurn {
  const call = (name: string, input: { [key: string]: string | number }) => ({ name, input, id: `${name}-${step}` });
  switch (question === undefined ? "" : messageText(question)) {
    case QUESTIONS.approvals:
      if (step > 0) return text(ANSWERS.approvals);
      return toolCalls([call("transfer", { amount: 120 }), call("choose", { what: "colour" }), call("visit", { place: "Oslo" })], {
        say: "Let me.",
      });
    case QUESTIONS.cut:
      if (step === 0) return toolCalls([call("repeat", { order: "first" })]);
      if (step > 1) return text(ANSWERS.cut);
      return toolCalls([
        call("look-up", { order: "second" }),
        call("repeat", { order: "third" }),
        call("ask-somebody", { order: "fourth" }),
      ]);
    case QUESTIONS.long:
      return step === 0 ? toolCall("look", {}, { id: "look-0" }) : text(ANSWERS.long);
    default:
      return text(ANSWERS.short);
  }
}

/** Several turns of the event loop: a summary that was asked for is there afterwards. */
async function linger(): Promise<string> {
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
  return "seen";
}

const order = z.object({ order: z.string() });

function effectTools(world: World): readonly Tool[] {
  const happen =
    (tool: string) =>
    (input: z.output<typeof order>, { idempotencyKey }: { readonly idempotencyKey: string }) => {
      world.set(idempotencyKey, { tool, order: input.order });
      return { ordered: input.order };
    };
  const described = { description: "Orders something", input: order };
  return [
    defineTool({
      ...described,
      id: "look-up",
      execute: happen("look-up"),
      reconcile: ({ order: what }) => ({ type: "done", data: { ordered: what, found: true } }),
    }),
    defineTool({ ...described, id: "repeat", idempotent: true, execute: happen("repeat") }),
    defineTool({ ...described, id: "ask-somebody", execute: happen("ask-somebody") }),
  ];
}

const transfer = defineTool({
  id: "transfer",
  description: "Pays",
  input: z.object({ amount: z.number() }),
  approve: ({ amount }) => ask(`Pay ${amount}?`),
  execute: ({ amount }) => ({ paid: amount }),
});

const choose = defineTool({
  id: "choose",
  description: "Lets somebody choose",
  input: z.object({ what: z.string() }),
  approve: ({ what }) =>
    suspend({
      action: "choose",
      message: `Which ${what}?`,
      parameters: { what },
      responseSchema: { type: "object" },
      resumeMode: "use-decision-as-tool-result",
    }),
  execute: () => "never",
});

const visit = defineTool({
  id: "visit",
  description: "Visits a place",
  input: z.object({ place: z.string() }),
  execute: ({ place }, { resume }) => {
    if (resume?.decision.action === "answer") return { place, saw: resume.decision.result };
    return wait({
      action: "visit",
      message: `What is in ${place}?`,
      resumeMode: "pass-decision-to-tool",
    });
  },
});

const visits = defineState("corpus.steps", {
  scope: "thread",
  schema: z.object({ count: z.number() }),
  initial: () => ({ count: 0 }),
  apply: (value, update: { readonly add: number }) => ({ count: value.count + update.add }),
  merge: "commutative",
});

const counting = definePlugin({
  id: "counting",
  register(r) {
    r.state(visits);
    r.hook("stepEnd", () => command().update(visits, { add: 1 }));
  },
});

export type CorpusRuntimeInit = Pick<RuntimeInit, "clock" | "ids" | "log"> & {
  readonly store: Store;
  readonly world: World;
  readonly wrap?: (tools: readonly Tool[]) => readonly Tool[];
};

export function corpusRuntime({ store, world, wrap = (tools) => tools, ...rest }: CorpusRuntimeInit): Runtime {
  const look = defineTool({ id: "look", description: "Looks", input: z.object({}), pure: true, execute: linger });
  return createRuntime({
    ...rest,
    store,
    // What the corpus has in its queue stays there.
    workers: false,
    providers: { scripted: scripted(new Array(200).fill(answer)) },
    models: { steady: { provider: "scripted", model: "scripted-1" } },
    plugins: [counting],
    agents: {
      clerk: { model: "steady", plugins: ["counting"] },
      scribe: {
        model: "steady",
        contextPolicy: { maxContextTokens: 20_000, maxOutputTokens: 1_000, autocompactThreshold: 1_500, compactionRawSuffixMessages: 1 },
      },
    },
    tools: wrap([...effectTools(world), transfer, choose, visit, look]),
  });
}
