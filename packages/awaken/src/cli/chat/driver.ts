import { AwakenError, errorMessage, nearestName } from "@awaken/contract";
import {
  addressed,
  type DecisionCommand,
  editLine,
  numbered,
  type PlainDecision,
  parseDecision,
  plainDecision,
  plainWhich,
  SPOKEN,
} from "./approvals.ts";
import type { Change, NoteTone, NumberedTicket } from "./block.ts";
import type { ChatHost } from "./chat-host.ts";
import { COMMANDS, type CommandName, helpText, parseLine } from "./commands.ts";
import type { Conversation } from "./conversation.ts";
import { eventsText } from "./records.ts";
import { ThreadTalk, type Told } from "./thread-talk.ts";
import { errorLine } from "./tool-text.ts";

const EVENTS = 20;
const MAX_EVENTS = 200;

/** What a face does with its input line when the line was dealt with. */
export type Submitted =
  | { readonly type: "done" }
  /** Nothing happened: the line may be corrected and given again. */
  | { readonly type: "again"; readonly line: string }
  /** The person goes on writing with this. */
  | { readonly type: "edit"; readonly line: string }
  | { readonly type: "quit" };

/** Whoever shows the chat. */
export interface Face {
  /** The conversation that is shown changed. */
  onChange(change: Change): void;
  /** Another conversation is shown, or the state of this one changed. */
  onState(): void;
  onSwitch(): void;
}

export interface DriverInit {
  readonly host: ChatHost;
  readonly agent: string | undefined;
  readonly newThreadId: () => string;
}

const DONE: Submitted = { type: "done" };

/** Everything that a line of input can do, whatever shows it. One thread is in front; runs of others go on behind it. */
export class ChatDriver {
  readonly host: ChatHost;
  readonly #newThreadId: () => string;
  readonly #talks = new Map<string, ThreadTalk>();
  readonly #agent: string | undefined;
  #current: ThreadTalk;
  #face: Face | undefined;
  /** Until the first thread is in front: a line that is typed meanwhile is for that one. Never rejects. */
  #opening: Promise<void> | undefined;
  /** A yes or no for which it has to be said which call is meant. */
  #asked: PlainDecision["command"] | undefined;
  /** The last message that was not sent because calls wait. */
  #held: string | undefined;

  constructor({ host, agent, newThreadId }: DriverInit) {
    if (agent !== undefined) checkAgent(host, agent);
    this.host = host;
    this.#agent = agent;
    this.#newThreadId = newThreadId;
    this.#current = this.#talk(newThreadId(), agent);
  }

  get conversation(): Conversation {
    return this.#current.conversation;
  }

  get talk(): ThreadTalk {
    return this.#current;
  }

  /** Opens the thread that is named, the one that was used last, or a new one. Changes are told to the face from here on. */
  start(face: Face, thread: string | undefined): Promise<void> {
    this.#face = face;
    const started = this.#open(face, thread);
    this.#opening = started
      .catch(() => {})
      .finally(() => {
        this.#opening = undefined;
      });
    return started;
  }

  async #open(face: Face, thread: string | undefined): Promise<void> {
    const id = thread ?? (await this.host.threadIds(1))[0];
    if (id === undefined) face.onSwitch();
    else await this.#show(id);
  }

  /** Whether a run of any thread is under way here. */
  get isRunning(): boolean {
    return this.#running().length > 0;
  }

  #running(): readonly ThreadTalk[] {
    return [...new Set([this.#current, ...this.#talks.values()])].filter(({ state }) => state.type === "running");
  }

  /** Cancels all that is under way, and waits for its end. */
  async stop(): Promise<void> {
    await Promise.all(this.#running().map((talk) => talk.stop()));
  }

  note(tone: NoteTone, text: string): void {
    this.#current.note(tone, text);
  }

  /** Resolves when all that the line started is over. Never rejects. */
  async submit(line: string): Promise<Submitted> {
    try {
      if (this.#opening !== undefined) await this.#opening;
      const parsed = parseLine(line);
      switch (parsed.type) {
        case "nothing":
          return DONE;
        case "message":
          return await this.#say(parsed.text, line);
        case "unknown":
          this.note("warning", unknownText(parsed.name));
          return DONE;
        case "command":
          return await this.#command(parsed.name, parsed.rest, line);
      }
    } catch (thrown) {
      this.note("error", errorLine(AwakenError.is(thrown) ? thrown.code : undefined, errorMessage(thrown)));
      return { type: "again", line };
    }
  }

  /** A message; or, while calls wait, a plain yes or no to them. Anything else is held back then: it would withdraw them. */
  async #say(text: string, line: string): Promise<Submitted> {
    const { tickets } = this.conversation;
    const asked = this.#asked;
    this.#asked = undefined;
    if (this.#current.state.type === "cut-off" || tickets.length === 0) return this.#tell(text, line);
    const which = asked === undefined ? undefined : plainWhich(text);
    const said = asked === undefined || which === undefined ? plainDecision(text) : { command: asked, which };
    // A run that is under way takes a message without giving up what waits.
    if (said === undefined) return this.#current.state.type === "running" ? this.#tell(text, line) : this.#holdBack(text, tickets);
    if (said.which === "" && tickets.length > 1) return this.#askWhich(said.command, tickets);
    return told(await this.#decidePlainly(said, tickets), line);
  }

  #decidePlainly({ command, which }: PlainDecision, tickets: readonly NumberedTicket[]): Promise<Told> {
    const decided = parseDecision(command, tickets, which);
    if (command === "approve" && decided.tickets.some(({ ticket }) => ticket.resumeMode === "use-decision-as-tool-result")) {
      throw new AwakenError("invalid_resume", "this call waits for an answer: /answer {json} gives it, /deny refuses");
    }
    return this.#current.decide(decided);
  }

  #askWhich(command: PlainDecision["command"], tickets: readonly NumberedTicket[]): Submitted {
    this.#asked = command;
    this.note("warning", `${tickets.length} calls wait: which do you ${SPOKEN[command]}? ${numbered(tickets)}, or all`);
    return DONE;
  }

  #holdBack(text: string, tickets: readonly NumberedTicket[]): Submitted {
    this.#held = text;
    const what = tickets.length === 1 ? `call ${numbered(tickets)} waits` : `calls ${numbered(tickets)} wait`;
    const them = tickets.length === 1 ? "it" : "them";
    this.note(
      "warning",
      `not sent: ${what} for a decision, and a message would withdraw ${them}\ndecide first, /send sends it and withdraws ${them}, /new begins another thread`,
    );
    return DONE;
  }

  /** A message although calls wait: the one that was held back, or this one. */
  async #send(rest: string, line: string): Promise<Submitted> {
    const text = rest === "" ? this.#held : rest;
    if (text === undefined) throw new AwakenError("invalid_activation", "there is no message to send: /send <message>");
    this.#held = undefined;
    return this.#tell(text, line);
  }

  /** A message that a run which was cut off keeps from being sent is held back too: what is typed next is what to do about that run. */
  async #tell(text: string, line: string): Promise<Submitted> {
    const talk = this.#current;
    const how = await talk.say(text);
    if (how === "done" || talk.state.type !== "cut-off") return told(how, line);
    if (this.#current === talk) this.#held = text;
    return DONE;
  }

  async #command(name: CommandName, rest: string, line: string): Promise<Submitted> {
    switch (name) {
      case "approve":
      case "deny":
      case "always":
      case "never":
      case "answer":
        return told(await this.#current.decide(parseDecision(name, this.conversation.tickets, rest)), line);
      case "edit":
        return this.#edit(rest);
      case "send":
        return await this.#send(rest, line);
      case "cancel":
        await this.#current.cancel();
        return DONE;
      case "resume":
        await this.#current.resume();
        return DONE;
      case "quit":
        return { type: "quit" };
      default:
        await this.#look(name, rest);
        return DONE;
    }
  }

  #edit(rest: string): Submitted {
    const [ticket] = addressed(this.conversation.tickets, rest).tickets;
    return ticket === undefined ? DONE : { type: "edit", line: editLine(ticket) };
  }

  /** Commands that start nothing. */
  async #look(name: Exclude<CommandName, DecisionCommand | "edit" | "send" | "cancel" | "resume" | "quit">, rest: string): Promise<void> {
    const { host } = this;
    const { id, agent } = this.#current;
    switch (name) {
      case "help":
        this.note("listing", helpText());
        return;
      case "agents":
        this.note("listing", agentsText(host, agent));
        return;
      case "agent":
        checkAgent(host, rest);
        this.#current.agent = rest;
        this.note("info", `messages go to ${rest} now`);
        return;
      case "threads":
        return this.note("listing", await host.threadsText(id));
      case "switch":
        if (rest === "") throw new AwakenError("invalid_id", "/switch needs the id of a thread: /threads lists them");
        await this.#show(await host.findThread(rest));
        if (this.conversation.blocks.length === 0) this.note("info", `there is no thread ${rest} yet: your first message begins it`);
        return;
      case "new":
        return this.#show(this.#newThreadId());
      case "state":
        return this.note("listing", await host.stateText(id, agent));
      case "events":
        return this.note("listing", await eventsText(host, id, readCount(rest)));
    }
  }

  /** A thread whose run is under way is shown as it is; any other is read from the store. */
  async #show(id: string): Promise<void> {
    const known = this.#talks.get(id);
    const isLive = known?.state.type === "running";
    const talk = isLive && known !== undefined ? known : this.#talk(id, undefined);
    const left = this.#current;
    if (left.state.type === "running") this.#talks.set(left.id, left);
    else this.#talks.delete(left.id);
    if (left.state.type !== "running" && left !== talk) await left.leave();
    this.#talks.set(id, talk);
    this.#current = talk;
    this.#asked = undefined;
    this.#held = undefined;
    this.#face?.onSwitch();
    if (!isLive) await talk.open();
  }

  #talk(id: string, agent: string | undefined): ThreadTalk {
    const talk: ThreadTalk = new ThreadTalk(this.host, id, agent ?? this.#agent, {
      onChange: (change) => {
        if (this.#current === talk) this.#face?.onChange(change);
      },
      onState: () => this.#onState(talk),
    });
    return talk;
  }

  #onState(talk: ThreadTalk): void {
    if (this.#current === talk) this.#face?.onState();
    if (this.#current === talk || talk.state.type === "running") return;
    this.#talks.delete(talk.id);
    void talk.leave();
    this.note(
      "info",
      `thread ${talk.id}: ${talk.state.type === "waiting" ? "waits for a decision" : "its run is over"}; /switch ${talk.id}`,
    );
  }
}

function unknownText(name: string): string {
  const meant = nearestName(
    name,
    COMMANDS.map((command) => command.name),
  );
  const hint = meant === undefined ? "/help lists the commands" : `did you mean /${meant}?`;
  return `unknown command /${name}: ${hint} //… sends a message that begins with a slash`.replace("commands //", "commands; //");
}

const told = (how: Told, line: string): Submitted => (how === "done" ? DONE : { type: "again", line });

function agentsText({ agents }: ChatHost, current: string): string {
  if (agents === undefined) return "the server does not list its agents: /agent <id> chooses one";
  return agents.map((known) => `${known === current ? "*" : " "} ${known}`).join("\n");
}

/** Where nobody lists them, the next message tells. */
function checkAgent({ agents }: ChatHost, id: string): void {
  if (agents === undefined ? id !== "" : agents.includes(id)) return;
  const wanted = id === "" ? "no agent is named" : `there is no agent '${id}'`;
  throw new AwakenError("agent_not_found", agents === undefined ? wanted : `${wanted}; there are: ${agents.join(", ")}`, {
    details: { agentId: id },
  });
}

function readCount(rest: string): number {
  if (rest === "") return EVENTS;
  const count = Number(rest);
  if (Number.isInteger(count) && count > 0) return Math.min(count, MAX_EVENTS);
  throw new AwakenError("invalid_id", `/events takes a number from 1 to ${MAX_EVENTS}, got '${rest}'`);
}
