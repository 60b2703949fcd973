import { type AgentEvent, type InferenceRequest, type Message, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import type { AttachedEvent } from "@awaken/runtime";
import { ask, createRuntime, defineTool, type Runtime, type RuntimeInit } from "@awaken/runtime";
import { countingIds, cut, failure, instantClock, type ScriptStep, scripted, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores";
import * as z from "zod";

/** What one kind of run looks like to whoever follows it: the events of each activation, and the log of the thread afterwards. */
export interface Golden {
  readonly activations: readonly (readonly AgentEvent[])[];
  readonly messages: readonly Message[];
}

/** The same runs, and what their store says about them afterwards. */
export interface Told extends Golden {
  /** What whoever attaches to the thread sees. */
  readonly attached: readonly AttachedEvent[];
  /** What whoever attached before it began saw. */
  readonly followed: readonly AttachedEvent[];
}

/** Plays a run and notes what is heard. */
interface Stage {
  readonly runtime: Runtime;
  hear(run: AsyncIterable<AgentEvent>, onEvent?: (event: AgentEvent) => void): Promise<readonly AgentEvent[]>;
}

type Story = (stage: Stage) => Promise<void>;

interface Telling {
  readonly turns: readonly ScriptStep[];
  readonly agents?: RuntimeInit["agents"];
  readonly play: Story;
}

const object = z.object({});

const tools = [
  defineTool({
    id: "weather",
    description: "Weather of a city",
    input: z.object({ city: z.string() }),
    execute: ({ city }) => ({ city, tempC: 21 }),
  }),
  defineTool({
    id: "refund",
    description: "Refunds an order",
    input: z.object({ order: z.string(), amount: z.number() }),
    approve: ({ amount }) => ask(`Refund ${amount}?`),
    execute: (input) => ({ paid: input.amount }),
  }),
  defineTool({
    id: "wait_for_summary",
    description: "Takes its time",
    input: object,
    execute: () => new Promise<string>((resolve) => setImmediate(() => resolve("waited"))),
  }),
];

const call = (id: string, name: string, input: ScriptedInput) => ({ id, name, input });
type ScriptedInput = Parameters<typeof toolCall>[1];

const LONG = "All about the trip. ".repeat(600);

const isSummaryRequest = ({ tools: offered }: InferenceRequest): boolean => offered.length === 0;

/** Whoever comes first, the summary or the run that goes on meanwhile. */
function whileCompacting(request: InferenceRequest) {
  if (isSummaryRequest(request)) return text("They planned a trip.");
  return request.messages.at(-1)?.role === "tool" ? text("As planned.") : toolCall("wait_for_summary", {}, { id: "c1" });
}

/** The tickets that the activation left open. */
const openTickets = (events: readonly AgentEvent[]) => events.flatMap((event) => (event.type === "run-end" ? event.tickets : []));

const PICK_COLOR = { id: "pick_color", description: "Asks the user", parameters: { type: "object" } };

const ask1 = { agent: "assistant", thread: "t" } as const;

export const STORIES: Readonly<Record<string, Telling>> = {
  text: {
    turns: [text("Hello, ", "Ada.")],
    play: async ({ runtime, hear }) => void (await hear(runtime.stream({ ...ask1, input: "Hi" }))),
  },
  tools: {
    turns: [
      toolCalls([call("c1", "weather", { city: "Oslo" }), call("c2", "weather", { city: "Rome" })], { say: "Let me look." }),
      text("21 in both."),
    ],
    play: async ({ runtime, hear }) => void (await hear(runtime.stream({ ...ask1, input: "Weather?" }))),
  },
  "parallel-approvals": {
    turns: [
      toolCalls([call("c1", "refund", { order: "7", amount: 120 }), call("c2", "refund", { order: "8", amount: 130 })]),
      text("Both are done."),
    ],
    async play({ runtime, hear }) {
      const [first, second] = openTickets(await hear(runtime.stream({ ...ask1, input: "Refund 7 and 8" })));
      await hear(await runtime.decide(second?.id ?? "", { action: "approve", input: { order: "8", amount: 90 }, by: "ana", id: "d1" }));
      await hear(await runtime.decide(first?.id ?? "", { action: "approve", by: "ben", id: "d2" }));
    },
  },
  denied: {
    turns: [toolCall("refund", { order: "7", amount: 120 }, { id: "c1" }), text("Then not.")],
    async play({ runtime, hear }) {
      const [ticket] = openTickets(await hear(runtime.stream({ ...ask1, input: "Refund 7" })));
      await hear(await runtime.decide(ticket?.id ?? "", { action: "deny", reason: "too much", by: "ana", id: "d1" }));
    },
  },
  "frontend-tool": {
    turns: [toolCall("pick_color", { of: "sky" }, { id: "c1" }), text("Blue it is.")],
    async play({ runtime, hear }) {
      const [ticket] = openTickets(await hear(runtime.stream({ ...ask1, input: "Paint it", frontendTools: [PICK_COLOR] })));
      await hear(await runtime.decide(ticket?.id ?? "", { action: "answer", result: "blue", id: "d1" }));
    },
  },
  "cut-and-salvaged": {
    turns: [cut(text("The first half, ", "lost"), 1), text("and the second.")],
    play: async ({ runtime, hear }) => void (await hear(runtime.stream({ ...ask1, input: "Tell me" }))),
  },
  compaction: {
    turns: [text(LONG), whileCompacting, whileCompacting, whileCompacting],
    agents: {
      assistant: {
        model: "fast",
        contextPolicy: { maxContextTokens: 20_000, maxOutputTokens: 1_000, autocompactThreshold: 2_000, compactionRawSuffixMessages: 1 },
      },
    },
    async play({ runtime, hear }) {
      await hear(runtime.stream({ ...ask1, input: "Plan a trip" }));
      await hear(runtime.stream({ ...ask1, input: "And now?" }));
    },
  },
  handoff: {
    turns: [
      toolCall("handoff", { agent: "billing" }, { id: "c1" }),
      toolCalls([call("c2", "weather", { city: "Oslo" }), call("c3", "pick_color", { of: "the invoice" })], { say: "Billing here." }),
      text("A blue invoice it is."),
    ],
    agents: {
      assistant: { model: "fast", instructions: "Be brief.", handoffs: ["billing"], tools: ["refund"] },
      billing: { model: "fast", instructions: "Be exact.", description: "Owns invoices", tools: ["weather"] },
    },
    async play({ runtime, hear }) {
      const [ticket] = openTickets(await hear(runtime.stream({ ...ask1, input: "My invoice", frontendTools: [PICK_COLOR] })));
      await hear(await runtime.decide(ticket?.id ?? "", { action: "answer", result: "blue", id: "d1" }));
    },
  },
  "child-with-approval": {
    turns: [
      toolCalls([call("c1", "agent_run_refunds", { prompt: "Refund order 7, it rained." })], { say: "I ask our refunds." }),
      toolCall("weather", { city: "Oslo" }, { id: "c1" }),
      toolCall("refund", { order: "7", amount: 120 }, { id: "c2" }),
      text("Refunded 120."),
      text("It is refunded."),
    ],
    agents: {
      assistant: { model: "fast", instructions: "Be brief.", delegates: ["refunds"], tools: ["weather"] },
      refunds: { model: "fast", description: "Refunds orders", tools: ["weather", "refund"] },
    },
    async play({ runtime, hear }) {
      const [ticket] = openTickets(await hear(runtime.stream({ ...ask1, input: "Refund order 7" })));
      await hear(await runtime.decide(ticket?.id ?? "", { action: "approve", by: "ana", id: "d1" }));
    },
  },
  cancelled: {
    turns: [text("I begin ", "and go on")],
    async play({ runtime, hear }) {
      const run = runtime.stream({ ...ask1, input: "Tell me a lot" });
      await hear(run, (event) => {
        if (event.type === "text-delta") void runtime.cancel(run.id);
      });
    },
  },
  failed: {
    turns: [failure("unauthorized", "the key was refused")],
    play: async ({ runtime, hear }) => void (await hear(runtime.stream({ ...ask1, input: "Hi" }))),
  },
};

// Loaded before anybody waits for it: on this clock a wait for the disk is over at once.
await import("@awaken/contract/json-schema");

/** Plays one story with ids and a clock of its own: the same each time. `then` sees the store when it is over. */
export async function tell({ turns, agents, play }: Telling, then?: (store: QueueStore) => Promise<void>): Promise<Told> {
  const [clock, ids] = [instantClock(1_000), countingIds("id")];
  const store = memoryStore({ clock: () => clock.now(), ids: countingIds("row") });
  await using runtime = createRuntime({
    providers: { house: scripted(turns, { clock }) },
    models: { fast: { provider: "house", model: "fast-1", contextWindow: 20_000 } },
    agents: agents ?? { assistant: { model: "fast", instructions: "Be brief." }, billing: { model: "fast", description: "Owns invoices" } },
    tools,
    store,
    clock,
    ids,
    log: { warn() {}, error() {} },
  });
  const activations: (readonly AgentEvent[])[] = [];
  const hear: Stage["hear"] = async (run, onEvent) => {
    const events: AgentEvent[] = [];
    for await (const event of run) {
      events.push(event);
      onEvent?.(event);
    }
    activations.push(events);
    return events;
  };
  await store.threads.create({ id: threadId("t") });
  const following = new Following(runtime.attach("t"));
  await play({ runtime, hear });
  const { items } = await store.messages.list(threadId("t"), { visibility: "all", limit: 200 });
  const attached = await new Following(runtime.attach("t")).rest();
  await then?.(store);
  return { activations, messages: items.map(({ message }) => message), attached, followed: await following.rest() };
}

/** Somebody who reads as it comes. */
export class Following {
  readonly events: AttachedEvent[] = [];
  readonly #iterator: AsyncIterator<AttachedEvent>;
  readonly #reading: Promise<void>;

  constructor(source: AsyncIterable<AttachedEvent>) {
    this.#iterator = source[Symbol.asyncIterator]();
    this.#reading = this.#read();
  }

  async #read(): Promise<void> {
    for (let next = await this.#iterator.next(); !next.done; next = await this.#iterator.next()) this.events.push(next.value);
  }

  /** What comes without anything happening any more; then it leaves. */
  async rest(): Promise<readonly AttachedEvent[]> {
    for (let count = -1; count !== this.events.length; ) {
      count = this.events.length;
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    await this.#iterator.return?.();
    await this.#reading;
    return this.events;
  }
}
