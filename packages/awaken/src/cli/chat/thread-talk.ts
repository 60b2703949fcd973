import { type AgentEvent, AwakenError, errorMessage, messageText, type Termination, threadId } from "@awaken/contract";
import type { TicketDecision } from "@awaken/runtime";
import type { Decided } from "./approvals.ts";
import type { NoteTone } from "./block.ts";
import type { ChatHost, TalkRequest } from "./chat-host.ts";
import { Conversation } from "./conversation.ts";
import { showHistory } from "./history.ts";
import type { RestState, TalkListeners, TalkState } from "./talk-state.ts";
import { ThreadFollower } from "./thread-follower.ts";
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
  readonly #host: ChatHost;
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
  #elsewhere: string | undefined;
  /** Ends with the decisions that are on their way to it. Never rejects. */
  #deciding: Promise<unknown> = Promise.resolve();

  constructor(host: ChatHost, id: string, agent: string | undefined, listen: TalkListeners) {
    this.#host = host;
    this.id = threadId(id);
    this.#chosenAgent = agent;
    this.#agent = agent ?? host.agents?.[0] ?? "default";
    this.conversation = new Conversation(listen.onChange);
    this.#onState = listen.onState;
    this.#follower = new ThreadFollower(host, id, (event) => this.#hearElsewhere(event));
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
    const { rows, isWhole, edited, tokens } = await this.#host.history(this.id, HISTORY_ROWS);
    if (!isWhole) this.note("info", `the last ${rows.length} messages of this thread:`);
    showHistory(this.conversation, rows, edited);
    this.conversation.countTokens(tokens);
    const rest = await this.#load();
    this.conversation.endCalls(rest.type === "cut-off" ? "cut off" : "no result", rest.type === "waiting");
    if (rest.type === "cut-off" && this.#elsewhere === undefined) {
      this.note("warning", `run ${rest.run.runId} was cut off (or another process executes it): /resume goes on with it, /cancel ends it`);
    }
    this.#setState(rest);
  }

  note(tone: NoteTone, text: string): void {
    this.conversation.note(tone, text);
  }

  /** Reads the record again: somebody else may have gone on with the thread. */
  async #load(): Promise<RestState> {
    const { agent, elsewhere, tickets, rest } = await this.#host.standing(this.id);
    this.#agent = this.#chosenAgent ?? agent;
    this.#elsewhere = elsewhere;
    this.conversation.ask(tickets);
    return rest;
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
      return this.#run(this.#message(text));
    });
  }

  #message(input: string): TalkRequest {
    return { type: "say", input, agent: this.#agent, isChosen: this.#chosenAgent !== undefined };
  }

  async #sayToRun(text: string): Promise<Told> {
    const isSent = await this.#host.send(this.id, text);
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
    try {
      const run = await this.#host.decide(decisionsOf(decided));
      this.#showDecided(decided);
      this.#onState();
      if (this.#isHeard) return "done";
      this.#stop.signal.addEventListener("abort", () => run.cancel(), { once: true });
      return await this.#hear(run.events, () => {});
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
    return this.#run({ type: "decide", run: rest.run, decisions: decisionsOf(decided) }, () => this.#showDecided(decided));
  }

  /** Whoever executes the run takes it; what comes of it is heard like the rest. */
  async #decideElsewhere(rest: RestState, decided: Decided): Promise<Told> {
    try {
      await this.#host.decide(decisionsOf(decided));
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
      if (rest.type === "cut-off" && this.#host.resumesItself) return this.#refuse("the server goes on with it by itself");
      if (rest.type === "cut-off") return this.#run({ type: "resume", run: rest.run });
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
      return this.#run({ type: "resume", run: rest.run });
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

  async #run(request: TalkRequest, onStart: () => void = () => {}): Promise<Told> {
    await this.#follower.stop();
    this.conversation.begin(this.#host.hasOutput(request.type === "say" ? request.agent : request.run.agentId));
    const told = await this.#hear(this.#host.run(this.id, request, this.#stop.signal), onStart);
    await this.#deciding;
    const rest = await this.#load();
    // Cancelled in the moment in which it came to wait.
    if (rest.type === "waiting" && this.#stop.signal.aborted && request.type !== "resume") {
      return this.#run({ type: "resume", run: rest.run });
    }
    this.#stop = new AbortController();
    await this.#rest(rest);
    return told;
  }

  /** Events until the run is over. One that could not begin tells why, and leaves everything as it was. */
  async #hear(run: AsyncIterable<AgentEvent>, onStart: () => void): Promise<Told> {
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
    if (rest.type === "idle") return this.#run(this.#message(text));
    return this.#refuse(`the queued message was not sent, because the run is not over: ${text}`);
  }
}

const decisionsOf = ({ tickets, decision }: Decided): readonly TicketDecision[] =>
  tickets.map(({ ticket }) => ({ ticket: ticket.id, decision }));

/** After these the record says something else. */
const MOVES: ReadonlySet<AgentEvent["type"]> = new Set(["run-start", "run-end", "ticket-open", "decision-taken"]);

const STATE_EVENTS: ReadonlySet<AgentEvent["type"]> = new Set(["inference-end", "inference-retry", "ticket-open"]);

const FAILURES: ReadonlySet<Termination["type"]> = new Set(["error", "blocked", "stopped"]);
