import {
  type AgentEvent,
  AwakenError,
  errorMessage,
  type Message,
  messageText,
  openTicketsOf,
  type RunId,
  type Termination,
  threadId,
} from "@awaken/contract";
import type { RunRequest, RunStream } from "@awaken/runtime";
import { loadEdited } from "../executed-inputs.ts";
import type { Project } from "../project.ts";
import type { Decided } from "./approvals.ts";
import type { NoteTone } from "./block.ts";
import { Conversation } from "./conversation.ts";
import { showHistory } from "./history.ts";
import { lastMessages, usedTokens } from "./records.ts";
import { actingAgent, type RestState, restState, type TalkListeners, type TalkState } from "./talk-state.ts";
import { isElsewhere, ThreadFollower } from "./thread-follower.ts";
import { errorLine } from "./tool-text.ts";

/** Rows of the log that are shown when a thread is opened. */
const HISTORY_ROWS = 200;

/** What is done when the run that is under way is over. */
type Queued = { readonly type: "message"; readonly text: string } | { readonly type: "decision"; readonly decided: Decided };

/** How one order ended: `refused` means that nothing happened, and that it may be given again. */
export type Told = "done" | "refused";

/** The person's side of one thread: starts runs, hears their events, and keeps the conversation up to date. */
export class ThreadTalk {
  readonly id: string;
  readonly conversation: Conversation;
  readonly #project: Project;
  #state: TalkState = { type: "idle" };
  #agent: string;
  #chosenAgent: string | undefined;
  readonly #queue: Queued[] = [];
  /** Of the run that is under way, or about to begin: nobody has to wait for it to be cancelled. */
  #stop = new AbortController();
  readonly #onState: () => void;
  /** Ends with what is under way. */
  #work: Promise<unknown> = Promise.resolve();
  #hasFailed = false;
  /** A run is heard that takes decisions. */
  #isHeard = false;
  /** What other processes do while nothing of the thread is executed here. */
  readonly #follower: ThreadFollower;
  /** The run that another process executes. */
  #elsewhere: RunId | undefined;
  /** Ends with the decisions that are on their way to it. Never rejects. */
  #deciding: Promise<unknown> = Promise.resolve();

  constructor(project: Project, id: string, agent: string | undefined, listen: TalkListeners) {
    this.#project = project;
    this.id = threadId(id);
    this.#chosenAgent = agent;
    this.#agent = agent ?? project.agents[0] ?? "default";
    this.conversation = new Conversation(listen.onChange);
    this.#onState = listen.onState;
    this.#follower = new ThreadFollower(project, id, (event) => this.#hearElsewhere(event));
  }

  get state(): TalkState {
    return this.#state;
  }

  /** The one that the next message goes to. */
  get agent(): string {
    return this.#agent;
  }

  set agent(id: string) {
    this.#chosenAgent = id;
    this.#agent = id;
    this.#onState();
  }

  /** Whether the last run that was heard of failed. One that a person cancelled did not. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Cancels the run that is under way, and waits for its end. */
  async stop(): Promise<void> {
    if (this.#state.type !== "running") return;
    await this.cancel();
    await Promise.allSettled([this.#work]);
  }

  /** Shows what the store has of the thread. */
  async open(): Promise<void> {
    const { store } = this.#project;
    const head = await store.threads.loadHead(threadId(this.id));
    const live = (await isElsewhere(this.#project, head?.openRun)) ? head?.openRun : undefined;
    const { items: rows, isWhole } = await lastMessages(store, this.id, HISTORY_ROWS);
    // It is heard from its beginning.
    const isOfLive = ({ id, metadata }: Message) => metadata?.runId === live?.runId || live?.input.triggerMessageIds.includes(id);
    const items = live === undefined ? rows : rows.filter(({ message }) => !isOfLive(message));
    if (!isWhole) this.note("info", `the last ${items.length} messages of this thread:`);
    showHistory(this.conversation, items, await loadEdited(store, items));
    this.conversation.countTokens(await usedTokens(store, this.id));
    const rest = await this.#load();
    this.conversation.endCalls(rest.type === "cut-off" ? "cut off" : "no result");
    if (rest.type === "cut-off" && live === undefined) {
      this.note("warning", `run ${rest.run.runId} was cut off (or another process executes it): /resume goes on with it, /cancel ends it`);
    }
    this.#setState(rest);
  }

  note(tone: NoteTone, text: string): void {
    this.conversation.note(tone, text);
  }

  /** Reads the record again: somebody else may have gone on with the thread. */
  async #load(): Promise<RestState> {
    const head = await this.#project.store.threads.loadHead(threadId(this.id));
    const { openRun } = head ?? {};
    this.#agent = this.#chosenAgent ?? actingAgent(head, this.#project.agents);
    this.#elsewhere = (await isElsewhere(this.#project, openRun)) ? openRun?.runId : undefined;
    this.conversation.ask(openRun === undefined ? [] : openTicketsOf(openRun));
    return restState(openRun);
  }

  #setState(state: TalkState): void {
    this.#state = state;
    if (state.type !== "running") this.#follower.start(this.#elsewhere);
    this.#onState();
  }

  /** Nobody looks at the thread any more. */
  async leave(): Promise<void> {
    await this.#follower.stop();
  }

  /** What a run of another process does is shown as if it were done here. */
  #hearElsewhere(event: AgentEvent): void {
    if (event.type === "run-start") {
      this.conversation.begin(false);
      this.note("info", `another process executes run ${event.runId}: it is shown as it goes`);
    }
    if (event.type === "input-accepted") {
      for (const message of event.messages) if (message.role === "user") this.conversation.user(messageText(message), "asked");
    }
    if (event.type === "run-end") this.#hasFailed = FAILURES.has(event.termination.type);
    this.conversation.apply(event);
    if (MOVES.has(event.type)) void this.#reload();
    else if (STATE_EVENTS.has(event.type)) this.#onState();
  }

  /** Never rejects: what cannot be read is read with the next move. */
  async #reload(): Promise<void> {
    try {
      const rest = await this.#load();
      if (this.#state.type !== "running") this.#setState(rest);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Sends a message: into the run that is under way, behind it, or with a run of its own. Resolves when that run is over. */
  async say(text: string): Promise<Told> {
    if (this.#state.type === "running") return this.#sayToRun(text);
    return this.#fromRest((rest) => {
      if (rest.type === "cut-off" && this.#elsewhere === rest.run.runId) {
        return this.#refuse("not sent: another process executes a run of this thread. /send sends your message when it is over");
      }
      if (rest.type === "cut-off") {
        return this.#refuse(
          "not sent: a run of this thread was cut off. /resume goes on with it, /cancel ends it, /send then sends your message",
        );
      }
      this.conversation.user(text, "asked");
      this.#withdraw();
      return this.#run({ agent: this.#agent, input: text }, this.#agent);
    });
  }

  async #sayToRun(text: string): Promise<Told> {
    const isSent = (await this.#project.runtime.send(this.id, text)).status === "steered";
    this.conversation.user(text, isSent ? "sent" : "queued");
    if (!isSent) this.#queue.push({ type: "message", text });
    return "done";
  }

  /** The runtime gives up calls that wait when a new message comes. */
  #withdraw(): void {
    const open = this.conversation.tickets;
    if (open.length === 0) return;
    for (const { ticket } of open) this.conversation.decided(ticket.id, "withdrawn");
    this.conversation.endCalls("withdrawn by a later message");
    this.note(
      "warning",
      `${open.length === 1 ? "the call that waited" : `the ${open.length} calls that waited`} will not run: a new message came`,
    );
  }

  /** Decides, and hears what the run does with it. A decision that does not fit changes nothing: it can be made again. */
  async decide(decided: Decided): Promise<Told> {
    if (this.#state.type !== "running") return this.#fromRest((rest) => this.#decideFrom(rest, decided));
    if (!this.#isHeard) {
      this.#queue.push({ type: "decision", decided });
      this.note("info", "the decision follows when the run waits again");
      return "done";
    }
    const told = this.#deciding.then(() => this.#decideNow(decided));
    this.#deciding = told;
    return told;
  }

  /** The run takes it while it goes on with other calls. One that has left meanwhile goes on with it, and is heard here. */
  async #decideNow(decided: Decided): Promise<Told> {
    const { runtime } = this.#project;
    try {
      const run = await runtime.decideAll(decided.tickets.map(({ ticket }) => ({ ticket: ticket.id, decision: decided.decision })));
      this.#showDecided(decided);
      this.#onState();
      if (this.#isHeard) return "done";
      this.#stop.signal.addEventListener("abort", () => void runtime.cancel(run.id), { once: true });
      return await this.#hear(run, () => {});
    } catch (thrown) {
      return this.#fail(thrown);
    }
  }

  #showDecided({ tickets, decision, how }: Decided): void {
    for (const { ticket } of tickets) {
      this.conversation.decided(ticket.id, how);
      if (decision.action === "approve" && decision.input !== undefined) this.conversation.editInput(ticket.toolCallId, decision.input);
    }
  }

  #decideFrom(rest: RestState, decided: Decided): Told | Promise<Told> {
    if (rest.type === "cut-off" && this.#elsewhere === rest.run.runId) return this.#decideElsewhere(rest, decided);
    if (rest.type !== "waiting") return this.#refuse(`the thread does not wait any more: /switch ${this.id} shows what happened`);
    const decisions = decided.tickets.map(({ ticket }) => ({ ticket: ticket.id, decision: decided.decision }));
    return this.#run({ resume: rest.run.runId, decisions }, rest.run.agentId, () => this.#showDecided(decided));
  }

  /** Whoever executes the run takes it; what comes of it is heard like the rest. */
  async #decideElsewhere(rest: RestState, decided: Decided): Promise<Told> {
    try {
      await this.#project.runtime.decideAll(decided.tickets.map(({ ticket }) => ({ ticket: ticket.id, decision: decided.decision })));
      this.#showDecided(decided);
      return "done";
    } catch (thrown) {
      return this.#fail(thrown);
    } finally {
      this.#setState(rest);
    }
  }

  /** Goes on with the run that was cut off. */
  async resume(): Promise<Told> {
    if (this.#state.type === "running") return this.#refuse("the run is under way");
    return this.#fromRest((rest) => {
      if (rest.type === "cut-off") return this.#run({ resume: rest.run.runId }, rest.run.agentId);
      return this.#refuse(rest.type === "waiting" ? "the run waits for a decision: there is nothing to resume" : "no run was cut off here");
    });
  }

  /** Cancels the run: an active one at once; one that waits or was cut off is taken up only to be ended. */
  async cancel(): Promise<Told> {
    if (this.#state.type === "running") {
      const dropped = this.#queue.splice(0).length;
      if (dropped > 0) this.note("warning", `${dropped} queued ${dropped === 1 ? "line" : "lines"} will not follow`);
      this.#stop.abort(new AwakenError("cancelled", "the run was cancelled"));
      return "done";
    }
    return this.#fromRest((rest) => {
      if (rest.type === "idle") return this.#refuse("no run to cancel");
      this.#stop.abort(new AwakenError("cancelled", "the run was cancelled"));
      return this.#run({ resume: rest.run.runId }, rest.run.agentId);
    });
  }

  #fail(thrown: unknown): Told {
    this.note("error", errorLine(AwakenError.is(thrown) ? thrown.code : undefined, errorMessage(thrown)));
    return "refused";
  }

  #refuse(why: string): Told {
    this.note("warning", why);
    return "refused";
  }

  /** Looks at the record, then works. From the first moment on, nothing else begins on this thread. */
  #fromRest(work: (rest: RestState) => Told | Promise<Told>): Promise<Told> {
    const told = this.#workFromRest(work);
    this.#work = told;
    return told;
  }

  async #workFromRest(work: (rest: RestState) => Told | Promise<Told>): Promise<Told> {
    const before = this.#state;
    this.#stop = new AbortController();
    this.#setState({ type: "running" });
    try {
      const rest = await this.#load();
      const told = work(rest);
      if (typeof told === "string") await this.#rest(rest);
      return await told;
    } catch (thrown) {
      this.#setState(before);
      throw thrown;
    }
  }

  async #run(request: Omit<RunRequest, "thread" | "output" | "signal">, agent: string, onStart: () => void = () => {}): Promise<Told> {
    await this.#follower.stop();
    const schema = this.#project.outputs.get(agent);
    this.conversation.begin(schema !== undefined);
    const told = await this.#hear(
      this.#project.runtime.stream({
        ...request,
        thread: this.id,
        signal: this.#stop.signal,
        ...(schema === undefined ? {} : { output: schema }),
      }),
      onStart,
    );
    await this.#deciding;
    const rest = await this.#load();
    this.#stop = new AbortController();
    await this.#rest(rest);
    return told;
  }

  /** Events until the run is over. One that could not begin tells why, and leaves everything as it was. */
  async #hear(run: RunStream<unknown>, onStart: () => void): Promise<Told> {
    try {
      for await (const event of run) {
        if (event.type === "run-start") onStart();
        this.#isHeard = event.type !== "run-end";
        if (event.type === "run-end") this.#hasFailed = FAILURES.has(event.termination.type);
        this.conversation.apply(event);
        if (STATE_EVENTS.has(event.type)) this.#onState();
      }
      return "done";
    } catch (thrown) {
      return this.#fail(thrown);
    } finally {
      this.#isHeard = false;
    }
  }

  /** Goes on with what was queued meanwhile, until one of it starts a run: the end of that one comes here again. */
  async #rest(rest: RestState): Promise<void> {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const told = next.type === "decision" ? this.#decideFrom(rest, next.decided) : this.#sayFrom(rest, next.text);
      if (typeof told === "string") continue;
      await told;
      return;
    }
    this.#setState(rest);
  }

  /** A queued message does not withdraw a call that came to wait after it was written. */
  #sayFrom(rest: RestState, text: string): Told | Promise<Told> {
    if (rest.type === "idle") return this.#run({ agent: this.#agent, input: text }, this.#agent);
    return this.#refuse(`the queued message was not sent, because the run is not over: ${text}`);
  }
}

/** After these the record says something else. */
const MOVES: ReadonlySet<AgentEvent["type"]> = new Set(["run-start", "run-end", "ticket-open", "decision-taken"]);

const STATE_EVENTS: ReadonlySet<AgentEvent["type"]> = new Set(["inference-end", "inference-retry", "ticket-open"]);

const FAILURES: ReadonlySet<Termination["type"]> = new Set(["error", "blocked", "stopped"]);
