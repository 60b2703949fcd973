import { type AgentEvent, type JsonObject, type JsonValue, type StreamPart, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import {
  ask,
  command,
  createRuntime,
  defineAction,
  defineEffect,
  definePlugin,
  defineState,
  defineTool,
  reply,
  wait,
} from "@awaken/runtime";
import { countingIds, fakeClock, parts, scripted, text, ticketsOf } from "@awaken/runtime/testing";
import * as z from "zod";
import { frozenIn, vandalise } from "./edits.ts";

/** Whose objects are edited after they were handed in, or by whoever was given them. */
export const KINDS = [
  "input messages",
  "frontend tools",
  "overrides",
  "principal",
  "output schema",
  "tool results",
  "tool inputs",
  "suspensions",
  "provider parts",
  "events",
  "decisions",
  "state",
  "results",
  "records",
  "messages in view",
  "turns",
  "scheduled work",
] as const;
export type Kind = (typeof KINDS)[number];

/** What the thread, the model and the store know when it is over. */
export interface Told {
  /** What the model was shown, each time. */
  readonly requests: readonly string[];
  /** What is on record, at each moment at which it was looked at. */
  readonly records: readonly string[];
  /** What was handed in and is frozen now: whoever handed it in may have a use for it. */
  readonly frozen: readonly object[];
}

const notes = defineState("notes", {
  scope: "thread",
  schema: z.object({ list: z.array(z.object({ by: z.string() })) }),
  initial: () => ({ list: [] }),
  apply: (_before, next: { list: { by: string }[] }) => next,
});

const payload = z.custom<{ readonly for: { readonly names: readonly string[] } }>(() => true);
/** Due when the run goes on: until then it is on record with it. */
const remind = defineAction("vandal.remind", { phase: "beforeInference", payload });
const announce = defineEffect("vandal.announce", { payload });

const THREAD = threadId("t");
/** Of the store's own clock and ids. */
const PASSING = new Set(["eventId", "cursors", "createdAt", "updatedAt", "claimedAt", "settledAt", "finishedAt"]);
const stable = (value: unknown): string => JSON.stringify(value, (name, item: unknown) => (PASSING.has(name) ? undefined : item));

class Story {
  readonly #kind: Kind | undefined;
  readonly #store: QueueStore | undefined;
  readonly requests: string[] = [];
  readonly records: string[] = [];
  /** What tools returned, kept as a cache would. */
  readonly returned: { readonly kind: Kind; readonly value: unknown }[] = [];
  readonly said: StreamPart[] = [];

  constructor(kind: Kind | undefined, store: QueueStore | undefined) {
    this.#kind = kind;
    this.#store = store;
  }

  edit(kind: Kind, ...values: readonly unknown[]): void {
    if (kind === this.#kind) for (const value of values) vandalise(value);
  }

  keep<T>(kind: Kind, value: T): T {
    this.returned.push({ kind, value });
    return value;
  }

  /** Notes what is on record, edits what was read, and notes it again. */
  async look(runId: string): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    const run = (await store.runs.loadLatest(THREAD))?.runId;
    if (run === undefined) throw new Error(`run '${runId}' is not on record`);
    const read = async () => ({
      run: await store.runs.load(run),
      runs: await store.runs.list({ threadId: THREAD }),
      thread: await store.threads.load(THREAD),
      head: await store.threads.loadHead(THREAD),
      state: await store.threads.loadState(THREAD),
      messages: await store.messages.list(THREAD, { visibility: "all", limit: 200 }),
      events: await store.events.list({ type: "thread", threadId: THREAD }, { limit: 200 }),
      ledger: await store.ledger.list(run),
    });
    const before = await read();
    this.records.push(stable(before));
    this.edit("records", before);
    this.records.push(stable(await read()));
  }
}

const image = (data: string) =>
  ({ type: "image", source: { type: "base64", mediaType: "image/png", data }, providerMetadata: { house: { seen: [1] } } }) as const;

function toolsOf(story: Story) {
  return [
    defineTool({
      id: "look",
      description: "Looks something up",
      input: z.object({ at: z.object({ city: z.string() }) }).loose(),
      pure: true,
      execute: (input) => {
        story.edit("tool inputs", input);
        const data = story.keep("tool results", { found: { deep: ["here"] } });
        const metadata = story.keep("tool results", { source: { id: "s1" } });
        const media = story.keep("tool results", [image("aGk=")]);
        const value = story.keep("state", { list: [{ by: "look" }] });
        return reply(data, { message: "found", media, metadata, command: command().update(notes, value) });
      },
    }),
    defineTool({
      id: "plain",
      description: "Returns data alone",
      input: z.custom<JsonObject>(() => true),
      parameters: { type: "object" },
      execute: (input) => {
        story.edit("tool inputs", input);
        return story.keep("tool results", { rows: [{ n: 1 }] });
      },
    }),
    defineTool({
      id: "hold",
      description: "Waits for an answer",
      input: z.object({}),
      execute: () =>
        wait({
          action: "confirm",
          parameters: story.keep("suspensions", { choices: [{ id: "a" }] }),
          responseSchema: story.keep("suspensions", { type: "object", properties: { yes: { type: "boolean" } } }),
          resumeMode: "use-decision-as-tool-result",
        }),
    }),
    defineTool({
      id: "pay",
      description: "Pays",
      input: z.custom<{ amount: { eur: number } }>(() => true),
      parameters: { type: "object" },
      approve: () => ask("Pay?"),
      execute: (input) => {
        const paid = { paid: input.amount.eur };
        story.edit("tool inputs", input);
        return paid;
      },
    }),
  ];
}

/** Edits what was handed in before anything of it is committed, and what is told as it is told. */
const vandal = (story: Story) =>
  definePlugin({
    id: "vandal",
    register(registrar) {
      registrar.state(notes);
      const seen = (given: z.infer<typeof payload>): void => {
        story.records.push(stable(given));
        story.edit("scheduled work", given);
      };
      registrar.action(remind, seen);
      registrar.effect(announce, seen);
      registrar.hook("afterInference", ({ step }) => {
        if (step > 1) return undefined;
        const [first, second] = [
          story.keep("scheduled work", { for: { names: ["ana"] } }),
          story.keep("scheduled work", { for: { names: ["bob"] } }),
        ];
        return command().schedule(remind, first).emit(announce, second);
      });
      // Behind it, and waited for: what the hook before gave is not committed yet.
      registrar.hook("afterInference", async () => {
        await new Promise(setImmediate);
        for (const { kind, value } of story.returned) if (kind === "scheduled work") story.edit(kind, value);
        return undefined;
      });
      registrar.hook("afterInference", ({ messages, turn }) => {
        story.edit("provider parts", story.said);
        // The list itself is the run's, and read-only by its type.
        story.edit("messages in view", ...messages);
        story.edit("turns", turn);
        return undefined;
      });
      registrar.hook("afterToolExecute", ({ state, messages }) => {
        story.edit("messages in view", ...messages);
        for (const { kind, value } of story.returned) story.edit(kind, value);
        story.edit("state", state.get(notes));
        return undefined;
      });
    },
    onBind: (run) => {
      run.listen((event) => story.edit("events", event));
      return undefined;
    },
  });

const call = (id: string, name: string, input: JsonValue): StreamPart[] => [
  { type: "tool-call-start", id, name },
  { type: "tool-call-delta", id, delta: JSON.stringify(input) },
  { type: "tool-call-metadata", id, providerMetadata: { house: { thought: { id } } } },
];

const end = (): StreamPart[] => [
  { type: "usage", usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15, cacheReadTokens: 3 } },
  { type: "response", id: "resp", model: "fast-1" },
];

function firstTurn(story: Story) {
  const said: StreamPart[] = [
    { type: "reasoning-delta", delta: "hm" },
    { type: "block-end", signature: "sig", providerMetadata: { house: { redacted: [{ a: 1 }] } } },
    { type: "text-delta", delta: "Let me look." },
    { type: "block-end", providerMetadata: { house: { cite: ["x"] } } },
    { type: "content", content: image("Ynll") },
    ...call("c1", "look", { at: { city: "Oslo" } }),
    ...call("c2", "plain", { of: { deep: 1 } }),
    ...call("c3", "hold", {}),
    ...call("c4", "pick", { of: { colours: ["red"] } }),
    ...call("c5", "pay", { amount: { eur: 5 } }),
    ...end(),
  ];
  story.said.push(...said);
  return parts(...said, { type: "stop", reason: "tool-use" });
}

/** A schema library that hands out the object that it keeps. */
function answerSchema() {
  const json: JsonObject = { type: "object", properties: { answer: { type: "object" } }, required: ["answer"] };
  const schema = z.object({ answer: z.object({ deep: z.array(z.number()) }) });
  const standard = { ...schema["~standard"], jsonSchema: { input: () => json, output: () => json } };
  return { json, schema: { "~standard": standard } };
}

/** Tells the same story each time, with the edits of one kind, or of none. */
export async function tell(kind: Kind | undefined, store: QueueStore | undefined): Promise<Told> {
  const story = new Story(kind, store);
  const clock = fakeClock(1_000);
  const model = scripted([() => firstTurn(story), text('{"answer":{"deep":[1]}}'), text("Yes.")], { clock });
  const seeing = {
    ...model,
    stream: (request: Parameters<typeof model.stream>[0], options: Parameters<typeof model.stream>[1]) => {
      story.requests.push(stable(request));
      story.edit("messages in view", ...request.messages);
      return model.stream(request, options);
    },
  };
  await using runtime = createRuntime({
    providers: { house: seeing },
    models: { fast: { provider: "house", model: "fast-1" } },
    agents: { assistant: { model: "fast", plugins: ["vandal"] } },
    plugins: [vandal(story)],
    tools: toolsOf(story),
    ids: countingIds("id"),
    clock,
    log: { warn() {}, error() {} },
    ...(store === undefined ? {} : { store }),
  });
  const { json, schema } = answerSchema();
  const input = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hi" }, image("aW4=")], id: "m1" }];
  const frontendTools = [
    {
      id: "pick",
      description: "Asks the user",
      parameters: { type: "object", properties: { of: { type: "object" } } },
      metadata: { place: { at: [1] } },
    },
  ];
  const overrides = { temperature: 0.5, reasoningEffort: { budget: 100 } };
  const principal = { user: { id: "ana", groups: ["staff"] } };
  const request = { agent: "assistant", thread: "t", input, frontendTools, overrides, principal, output: schema };
  const first = runtime.stream(request);
  story.edit("input messages", input);
  story.edit("frontend tools", frontendTools);
  story.edit("overrides", overrides);
  story.edit("principal", principal);
  story.edit("output schema", json);
  await hear(story, first);
  const waiting = await first.result;
  await story.look(waiting.runId);
  const tickets = ticketsOf(waiting);
  const idOf = (tool: string): string => tickets.find(({ toolName }) => toolName === tool)?.id ?? tool;
  const decisions = [
    { ticket: idOf("hold"), decision: { action: "answer" as const, result: { yes: true, why: { deep: [1] } }, id: "d1" } },
    { ticket: idOf("pick"), decision: { action: "answer" as const, result: { colour: { name: "red" } }, id: "d2", by: "ana" } },
    {
      ticket: idOf("pay"),
      decision: { action: "approve" as const, input: { amount: { eur: 4 } }, metadata: { signed: { by: "ana" } }, id: "d3" },
    },
  ];
  story.edit("results", waiting);
  await story.look(waiting.runId);
  const deciding = runtime.decideAll(decisions);
  story.edit("decisions", decisions);
  const second = await deciding;
  await hear(story, second);
  const done = await second.result;
  await story.look(done.runId);
  story.edit("results", done);
  await story.look(done.runId);
  const last = await runtime.run({ agent: "assistant", thread: "t", input: "Sure?" });
  story.edit("results", last);
  await story.look(last.runId);
  // A value of state is, by its contract.
  const returned = story.returned.filter(({ kind: of }) => of !== "state").map(({ value }) => value);
  const handed = [input, frontendTools, overrides, principal, json, decisions, story.said, returned];
  return { requests: story.requests, records: story.records, frozen: frozenIn(handed) };
}

async function hear(story: Story, run: AsyncIterable<AgentEvent>): Promise<void> {
  for await (const event of run) story.edit("events", event);
}
