import type { InferenceRequest } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { createRuntime, definePlugin, defineTool, type RuntimeInit, type Tool, type ToolContext } from "@awaken/runtime";
import { countingIds, fakeClock, type ScriptStep, scripted, toolCalls } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { expect } from "vitest";
import * as z from "zod";
import { frozenIn, vandalise } from "./edits.ts";

type Registrar = Parameters<Parameters<typeof definePlugin>[0]["register"]>[0];

/** Of clocks, and of ids that are made of random numbers. */
const PASSING = new Set(["eventId", "cursor", "cursors", "createdAt", "updatedAt", "startedAt", "claimedAt", "settledAt", "finishedAt"]);
const MORE_PASSING = new Set(["completedAt", "durationMs", "host", "revision"]);
const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;

/** What does not hang on the hour, as it is now. */
export function asOfNow(value: unknown): unknown {
  const text = JSON.stringify([value], (name, item: unknown) => (PASSING.has(name) || MORE_PASSING.has(name) ? undefined : item));
  return JSON.parse(text.replaceAll(UUID, "uuid"));
}

/** All that is on record. The store freezes what it gives away: it is not asked before the story is over. */
async function allOf(store: QueueStore): Promise<unknown> {
  const { items: threads } = await store.threads.list({ limit: 100 });
  const all = threads.map(async (thread) => {
    const { items: runs } = await store.runs.list({ threadId: thread.id, limit: 100 });
    return {
      ...{ thread, runs, head: await store.threads.loadHead(thread.id), pending: await store.pending.load(thread.id) },
      messages: await store.messages.list(thread.id, { visibility: "all", limit: 200 }),
      events: (await store.events.list({ type: "thread", threadId: thread.id }, { limit: 200 })).items,
      ledger: await Promise.all(runs.map(({ runId }) => store.ledger.list(runId))),
      profiles: await store.profiles.list("agent:x"),
    };
  });
  return (await Promise.all(all)).sort((a, b) => (a.thread.id < b.thread.id ? -1 : 1));
}

type More = Partial<RuntimeInit> & { readonly register?: Register };
export type Register = (registrar: Registrar) => void;

/** One telling of a story, in which somebody edits what he handed in or was given, or does not. */
export class Play {
  readonly store: QueueStore = memoryStore();
  /** What models were asked, and what was said to whoever asked, as it was then. */
  readonly told: unknown[] = [];
  readonly isEdited: boolean;
  readonly #held: unknown[] = [];
  readonly lent: unknown[] = [];
  edits = 0;
  hasStore = true;

  constructor(isEdited: boolean) {
    this.isEdited = isEdited;
  }

  /** Somebody keeps it: `edit` changes it. */
  hold<T>(value: T): T {
    this.#held.push(value);
    return value;
  }

  /** The same for what stays his own: it is not frozen either. */
  lend<T>(value: T): T {
    this.lent.push(value);
    return this.hold(value);
  }

  /** Edits these, or all that is held. */
  readonly edit = (...values: readonly unknown[]): undefined => {
    this.edits++;
    if (this.isEdited) for (const value of values.length === 0 ? this.#held : values) vandalise(value);
  };

  say(...values: readonly unknown[]): void {
    this.told.push(asOfNow(values));
  }

  /** The agent `assistant` with these tools, and with what `register` brings. */
  open(turns: readonly ScriptStep[], { register, ...init }: More = {}) {
    const clock = fakeClock(1_000);
    const model = scripted(turns, { clock });
    const stream = (request: InferenceRequest, options: Parameters<typeof model.stream>[1]) => {
      this.say(request);
      return model.stream(request, options);
    };
    const plugins = register === undefined ? [] : [definePlugin({ id: "p", register })];
    return createRuntime({
      providers: { house: { ...model, stream } },
      models: { fast: { provider: "house", model: "fast-1" } },
      agents: { assistant: { model: "fast", plugins: plugins.map(({ id }) => id) } },
      ...{
        plugins,
        ids: countingIds("id"),
        clock,
        ...(this.hasStore ? { store: this.store } : {}),
        workers: false,
        log: { warn() {}, error() {} },
      },
      ...init,
    });
  }
}

export type Story = (play: Play) => Promise<unknown>;

/** Nobody sees a difference between the story with the edits and without. */
export async function expectSame(story: Story): Promise<void> {
  const tell = async (isEdited: boolean) => {
    const play = new Play(isEdited);
    await story(play);
    expect(play.edits).toBeGreaterThan(0);
    expect(frozenIn(play.lent)).toEqual([]);
    return { told: play.told, records: asOfNow(await allOf(play.store)) };
  };
  const quiet = await tell(false);
  expect(JSON.stringify(quiet)).not.toContain("vandalised");
  expect(await tell(true)).toEqual(quiet);
}

/** Any object: a schema that gives what it is given, and no copy. */
export const anything = z.custom<{ readonly [name: string]: unknown }>((value) => typeof value === "object");

/** A turn that calls the tool `t`. */
export const callT = (input = {}) => toolCalls([{ id: "c1", name: "t", input: { ...input } }]);

/** The tool `t`, which does this. */
export const doing = (execute: (context: ToolContext, input: unknown) => unknown): Tool =>
  defineTool({
    ...{ id: "t", description: "", input: anything, parameters: { type: "object", properties: { a: { type: "object" } } } },
    execute: async (input, context): Promise<unknown> => execute(context, input),
  });

export const GO = { agent: "assistant", thread: "t", input: "go" } as const;
/** A few of these tell a copy from a look. */
export const deep = () => ({ a: { b: [1] } });
