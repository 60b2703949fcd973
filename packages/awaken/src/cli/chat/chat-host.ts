import type { AgentEvent, JsonObject, Message, Ticket } from "@awaken/contract";
import type { AttachOptions, TicketDecision } from "@awaken/runtime";
import type { EditedCall } from "../executed-inputs.ts";
import type { OpenRun, RestState } from "./talk-state.ts";

/** What a thread has on record, as far as somebody who talks on it has to know. */
export interface ThreadStanding {
  /** The one that the thread is with. */
  readonly agent: string;
  readonly rest: RestState;
  readonly tickets: readonly Ticket[];
  /** The open run, when somebody else executes it. */
  readonly elsewhere: string | undefined;
}

/** The end of a log, oldest first, without what belongs to a run that is heard from its beginning. */
export interface ThreadHistory {
  readonly rows: readonly { readonly message: Message }[];
  readonly isWhole: boolean;
  readonly edited: readonly EditedCall[];
  /** Of all runs of the thread. */
  readonly tokens: number;
}

export interface LoggedEvent {
  readonly kind: string;
  readonly createdAt: number;
  readonly payload: JsonObject;
  readonly runId: string | undefined;
  /** Its place in the log of the thread. */
  readonly cursor: string | undefined;
}

export interface EventPage {
  readonly items: readonly LoggedEvent[];
  readonly next: string | undefined;
}

/** What is asked of a thread at rest. */
export type TalkRequest =
  | { readonly type: "say"; readonly input: string; readonly agent: string; readonly isChosen: boolean }
  | { readonly type: "decide"; readonly run: OpenRun; readonly decisions: readonly TicketDecision[] }
  /** Goes on with a run that was cut off; when the signal was given already, only to end it. */
  | { readonly type: "resume"; readonly run: OpenRun };

/** A run that took decisions. */
export interface DecidedRun {
  readonly events: AsyncIterable<AgentEvent>;
  cancel(): void;
}

/** Where the agents of a chat are: in this process, or on a server. */
export interface ChatHost {
  /** The folder that paths in messages start from. */
  readonly root: string;
  /** What was typed is kept for each of them apart. */
  readonly historyKey: string;
  /** Whether threads are still there when the chat is over. */
  readonly isLasting: boolean;
  /** Those that can be talked to; undefined where nobody lists them. */
  readonly agents: readonly string[] | undefined;
  /** Whether a run that was cut off is taken up without being told. */
  readonly resumesItself: boolean;
  /** Whether answers of this agent have a shape. */
  hasOutput(agent: string): boolean;
  /** `vendor/model`; empty when it is not known. */
  modelOf(agent: string): string;
  standing(thread: string): Promise<ThreadStanding>;
  history(thread: string, limit: number): Promise<ThreadHistory>;
  /** Events until the run is over or waits. The signal cancels it. */
  run(thread: string, request: TalkRequest, signal: AbortSignal): AsyncIterable<AgentEvent>;
  /** Says something to the run that is heard here. False when none takes it any more. */
  send(thread: string, text: string): Promise<boolean>;
  /** On record when this resolves. */
  decide(decisions: readonly TicketDecision[]): Promise<DecidedRun>;
  /** Follows a thread until the signal is given. */
  attach(thread: string, options: AttachOptions): AsyncIterable<AgentEvent>;
  events(thread: string, after: string | undefined): Promise<EventPage>;
  /** The id of a thread that is there, of which a part may be enough; what is none is given back. */
  findThread(id: string): Promise<string>;
  /** The same for a thread that may have to be begun. */
  threadToUse(id: string): Promise<string>;
  /** Those that were used last first, child threads of delegates aside. */
  threadIds(limit: number): Promise<readonly string[]>;
  /** One line for each of those that were used last. */
  threadsText(current: string): Promise<string>;
  /** Thread and run as they are on record. */
  stateText(thread: string, agent: string): Promise<string>;
}
