import type { Client } from "@awaken/client";
import { type AgentEvent, AwakenError, isJsonObject, messageText } from "@awaken/contract";
import type { AnswerOf, Routes } from "@awaken/contract/http";
import type { TicketDecision } from "@awaken/runtime";
import type { ChatHost, DecidedRun, EventPage, TalkRequest, ThreadHistory, ThreadStanding } from "../chat/chat-host.ts";
import { firstLine, MAX_THREADS } from "../chat/records.ts";
import type { OpenRun, RestState } from "../chat/talk-state.ts";
import { jsonLine } from "../chat/text-limits.ts";
import { clean } from "../sanitize.ts";
import { isMissing, pagesOf, place, type RunView, standingOf } from "./records.ts";

type ThreadView = AnswerOf<Routes["loadThread"]>;

/** A run that the server has taken, or will. */
interface Begun {
  readonly id: Promise<string>;
  readonly events: AsyncIterable<AgentEvent>;
}

const PAGE = 200;

const orNone = (thrown: unknown): undefined => {
  if (!isMissing(thrown)) throw thrown;
  return undefined;
};

function restOf(run: RunView | undefined): RestState {
  switch (run?.status) {
    case "waiting":
      return run.tickets.length > 0 ? { type: "waiting", run } : { type: "idle" };
    case "running":
    case "created":
      return { type: "cut-off", run };
    default:
      return { type: "idle" };
  }
}

/** Only what ended calls and the run: the rest was heard, or is not of interest any more. */
async function* endOf(client: Client, { runId }: OpenRun): AsyncGenerator<AgentEvent, undefined> {
  let ends: AgentEvent[] = [];
  for await (const event of client.attach(runId)) {
    if (event.type === "run-end" && event.result.status === "waiting") ends = [];
    else if (event.type === "run-end" || event.type === "tool-call-end") ends.push(event);
  }
  yield* ends;
}

/** What a run does from the first of several decisions on, until it has taken them all and is over or waits. */
async function* afterAll(client: Client, runId: string, tickets: readonly string[]): AsyncGenerator<AgentEvent, undefined> {
  const open = new Set(tickets);
  for await (const event of client.attach(runId)) {
    if (event.type === "decision-taken") open.delete(event.ticketId);
    if (open.size === tickets.length) continue;
    yield event;
    if (event.type === "run-end" && open.size === 0) return;
  }
}

/** The agents of a server. What is said, decided and cancelled here is done there. */
class RemoteHost implements ChatHost {
  readonly root: string;
  readonly historyKey: string;
  readonly isLasting = true;
  readonly agents = undefined;
  readonly resumesItself = true;
  readonly #client: Client;
  /** The run of each thread that is heard here. */
  readonly #heard = new Map<string, string>();

  constructor(client: Client, { url, cwd }: { readonly url: string; readonly cwd: string }) {
    this.#client = client;
    this.root = cwd;
    this.historyKey = url;
  }

  /** A server says it with each answer. */
  hasOutput(): boolean {
    return false;
  }

  modelOf(): string {
    return "";
  }

  async #latest({ openRunId, latestRunId }: ThreadView): Promise<RunView | undefined> {
    const id = openRunId ?? latestRunId;
    return id === undefined ? undefined : this.#client.runs.load(id);
  }

  async #find(thread: string): Promise<{ readonly found: ThreadView; readonly run: RunView | undefined } | undefined> {
    const found = await this.#client.threads.load(thread).catch(orNone);
    return found === undefined ? undefined : { found, run: await this.#latest(found) };
  }

  async standing(thread: string): Promise<ThreadStanding> {
    const run = (await this.#find(thread))?.run;
    const rest = restOf(run);
    return {
      agent: run?.agentId ?? "default",
      rest,
      tickets: run !== undefined && "tickets" in run ? run.tickets : [],
      elsewhere: rest.type === "cut-off" ? rest.run.runId : undefined,
    };
  }

  async history(thread: string, limit: number): Promise<ThreadHistory> {
    const known = await this.#find(thread);
    if (known === undefined) return { rows: [], isWhole: true, edited: [], tokens: 0 };
    const { items, hasMore } = await this.#client.threads.messages(thread, { visibility: "all", order: "descending", limit });
    const rest = restOf(known.run);
    const live = rest.type === "cut-off" ? rest.run.runId : undefined;
    const asked = live === undefined ? new Set<unknown>() : await this.#askedOf(live);
    const rows = items.toReversed().filter(({ message: { id, metadata } }) => {
      return live === undefined || (metadata?.runId !== live && !asked.has(id));
    });
    let tokens = 0;
    for await (const runs of pagesOf((cursor) => this.#client.threads.runs(thread, { limit: PAGE, ...place(cursor) })))
      for (const { usage } of runs) tokens += usage.totalTokens;
    return { rows, isWhole: !hasMore, edited: [], tokens };
  }

  /** The messages that a run began with: they are heard with it. */
  async #askedOf(runId: string): Promise<ReadonlySet<unknown>> {
    const { items } = await this.#client.runs.events(runId, { limit: PAGE });
    const messages = items.flatMap(({ payload }) => (Array.isArray(payload["messages"]) ? payload["messages"] : []));
    return new Set(messages.map((message) => (isJsonObject(message) ? message["id"] : undefined)));
  }

  run(thread: string, request: TalkRequest, signal: AbortSignal): AsyncIterable<AgentEvent> {
    switch (request.type) {
      case "say": {
        const { input, agent, isChosen } = request;
        return this.#hear(thread, signal, async () => {
          const run = this.#client.stream({ input, thread, ...(isChosen ? { agent } : {}) });
          return { id: run.id, events: run };
        });
      }
      case "decide":
        return this.#hear(thread, signal, async () => {
          const { events } = await this.decide(request.decisions);
          return { id: Promise.resolve(request.run.runId), events };
        });
      case "resume":
        return this.#end(request.run);
    }
  }

  /** The run is the server's: leaving would not end it. */
  async *#hear(thread: string, signal: AbortSignal, begin: () => Promise<Begun>): AsyncGenerator<AgentEvent, undefined> {
    const { id, events } = await begin();
    const cancel = () => this.#cancel(id);
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
    try {
      this.#heard.set(thread, await id);
      yield* events;
    } finally {
      this.#heard.delete(thread);
      signal.removeEventListener("abort", cancel);
    }
  }

  /** Never rejects: a run that is over needs no cancel, and a server that is gone is told of where its events are read. */
  #cancel(id: Promise<string>): void {
    id.then((run) => this.#client.cancel(run)).catch(() => {});
  }

  async *#end(run: OpenRun): AsyncGenerator<AgentEvent, undefined> {
    await this.#client.cancel(run.runId);
    yield* endOf(this.#client, run);
  }

  async send(thread: string, text: string): Promise<boolean> {
    const run = this.#heard.get(thread);
    if (run === undefined) return false;
    try {
      await this.#client.runs.send(run, text);
      return true;
    } catch (thrown) {
      if (AwakenError.is(thrown) && thrown.code === "channel_closed") return false;
      throw thrown;
    }
  }

  async decide(decisions: readonly TicketDecision[]): Promise<DecidedRun> {
    const [first, ...others] = decisions;
    if (first === undefined) throw new AwakenError("invalid_resume", "there is nothing to decide");
    const run = await this.#client.decide(first.ticket, first.decision);
    for (const { ticket, decision } of others) await this.#client.decide(ticket, decision);
    const tickets = decisions.map(({ ticket }) => ticket);
    const events = others.length === 0 ? run : afterAll(this.#client, await run.id, tickets);
    return { events, cancel: () => this.#cancel(run.id) };
  }

  attach(thread: string, options: Parameters<ChatHost["attach"]>[1]): AsyncIterable<AgentEvent> {
    return this.#client.attach(thread, options);
  }

  async events(thread: string, after: string | undefined): Promise<EventPage> {
    const { items, nextCursor } = await this.#client.threads.events(thread, { limit: PAGE, ...place(after) });
    return { items: items.map(({ runId, ...event }) => ({ ...event, runId })), next: nextCursor };
  }

  async findThread(id: string): Promise<string> {
    return id;
  }

  async threadToUse(id: string): Promise<string> {
    return id;
  }

  async threadIds(limit: number): Promise<readonly string[]> {
    const { items } = await this.#client.threads.list({ root: true, limit });
    return items.map(({ id }) => id);
  }

  async threadsText(current: string): Promise<string> {
    const { items, hasMore } = await this.#client.threads.list({ root: true, limit: MAX_THREADS });
    if (items.length === 0) return "no threads yet";
    const lines = await Promise.all(items.map((thread) => this.#threadLine(thread, current)));
    return [...lines, ...(hasMore ? ["… and more"] : [])].join("\n");
  }

  async #threadLine(thread: ThreadView, current: string): Promise<string> {
    const { id, metadata } = thread;
    const [run, first] = await Promise.all([this.#latest(thread), metadata.title === undefined ? this.#firstOf(id) : undefined]);
    const standing = run === undefined ? "no run" : standingOf(run);
    const about = firstLine(metadata.title ?? first ?? "");
    return `${id === current ? "*" : " "} ${clean(id)}  ${new Date(metadata.updatedAt).toISOString()}  ${standing}  ${about}`.trimEnd();
  }

  async #firstOf(thread: string): Promise<string> {
    const [first] = (await this.#client.threads.messages(thread, { limit: 1 })).items;
    return first === undefined ? "" : messageText(first.message);
  }

  async stateText(thread: string, agent: string): Promise<string> {
    const known = await this.#find(thread);
    if (known === undefined) return `thread ${thread} is new: nothing is on record yet\nagent ${agent}`;
    const { run } = known;
    const lines = [`thread ${thread}: agent ${agent}`];
    if (run !== undefined) {
      lines.push(`run ${run.runId} of ${run.agentId}: ${standingOf(run)}, ${run.steps} steps, ${run.usage.totalTokens} tokens`);
      if (run.status === "done") lines.push(`ended: ${jsonLine({ ...run.termination })}`);
      if (run.status === "waiting") lines.push(...run.tickets.map((ticket) => `waits: ${ticket.id} ${ticket.toolName}`));
    }
    return clean(lines.join("\n"));
  }
}

export const remoteHost = (client: Client, init: { readonly url: string; readonly cwd: string }): ChatHost => new RemoteHost(client, init);
