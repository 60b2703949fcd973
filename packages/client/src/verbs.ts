import type { Schema } from "@awaken/contract";
import type { Answer, Body, Query } from "./endpoints.ts";
import type { AttachedEvent } from "./events.ts";
import type { PendingVerbs } from "./pending.ts";
import type { Begun, RunHandle, RunResult } from "./run-handle.ts";

/** A message as a caller writes it. */
export type MessageInput = Body<"streamRun">["messages"][number];

/** What a caller asks for. */
export interface RunRequest<O = unknown> extends Pick<Body<"startRun">, "outputRetries" | "overrides" | "frontendTools" | "onBusy"> {
  /** Default: the agent that the thread is with, else the server's default. */
  readonly agent?: string;
  /** Default: a new thread. */
  readonly thread?: string;
  /** What is said: a text, or messages. */
  readonly input: string | readonly MessageInput[];
  /** The answer must be JSON that fits; `result.output` is then typed. */
  readonly output?: Schema<O>;
  /**
   * Makes the id of the run: the same key and request again is the same run, with another request `idempotency_conflict`. Default: one of its
   * own. So a request is always a run of its own: one that waits on the thread is ended and left behind; `send` continues it.
   */
  readonly idempotencyKey?: string;
  /** Stops waiting and reading; the run goes on. `cancel` ends it. */
  readonly signal?: AbortSignal;
}

export interface StartRequest extends Omit<RunRequest, "signal">, Pick<Body<"startRun">, "priority" | "dedupeKey"> {}

export type DecisionInput = Body<"decideTicket"> & {
  /** The run that it is about: then the ticket may also be the id of a call. */
  readonly run?: string;
};

export interface AttachOptions extends Pick<Query<"streamRunEvents">, "from"> {
  /** The last cursor that was seen: what came before it does not come again. */
  readonly after?: string;
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
}

/** The verbs of a runtime, over HTTP. What the server refuses is thrown as an `AwakenError` with the code of the runtime. */
export interface Client {
  /** Runs to the end, or to the next decision. */
  run<O>(request: RunRequest<O>): Promise<RunResult<O>>;
  /** The same, with its events. A connection that breaks is made again; leaving the iteration detaches, the run goes on. */
  stream<O>(request: RunRequest<O>): RunHandle<O>;
  /** Puts a run into the queue, and returns when that is durable. */
  start(request: StartRequest): Promise<Begun>;
  /** Follows a run to its end, or a thread until you leave, over as many connections as it takes; each committed event comes once. */
  attach(id: string, options?: AttachOptions): AsyncIterable<AttachedEvent>;
  /** The result of a run, when it is over or waits. */
  wait(
    runId: string,
    options?: {
      /** Stops waiting. */
      readonly signal?: AbortSignal;
    },
  ): Promise<RunResult>;
  /** Decides a ticket. On record when this resolves, with the run from there on. */
  decide(ticket: string, decision: DecisionInput): Promise<RunHandle>;
  /** By run id or thread id. True when a run was told to stop. */
  cancel(id: string): Promise<boolean>;
  /** Ends what is at work on a thread, and cancels what is queued there. */
  interrupt(thread: string): Promise<Answer<"interruptThread">>;
  /** Messages for a thread. Durable when this resolves. Default mode `queue`. */
  send(thread: string, input: RunRequest["input"], options?: Pick<Body<"sendMessages">, "mode">): Promise<Answer<"sendMessages">>;
  /** Conversations and what was said in them. */
  readonly threads: ThreadVerbs;
  /** Runs, as they stand. */
  readonly runs: RunVerbs;
  /** Messages that were sent and that no run has read. */
  readonly pending: PendingVerbs;
  /** For whoever runs the server: the token is the admin's. */
  readonly admin: AdminVerbs;
}

export interface AdminVerbs {
  /** What waits for a worker or is with one, the oldest first, and messages that no run has read. */
  queue(query?: Query<"listQueue">): Promise<Answer<"listQueue">>;
  /** Work that nobody could bring to an end, the oldest first. */
  deadLetters(query?: Query<"listDeadLetters">): Promise<Answer<"listDeadLetters">>;
  /** Puts a dead letter into the queue again, for a new run. */
  replay(deadLetter: string): Promise<Begun>;
  /** Gives a dead letter up for good. */
  drop(deadLetter: string): Promise<void>;
}

export interface ThreadVerbs {
  /** Those that were used last first. */
  list(query?: Query<"listThreads">): Promise<Answer<"listThreads">>;
  /** What a list of conversations shows. */
  summaries(query?: Query<"listThreadSummaries">): Promise<Answer<"listThreadSummaries">>;
  /** One thread. */
  load(id: string): Promise<Answer<"loadThread">>;
  /** Before its first run. */
  create(thread?: Body<"createThread">): Promise<Answer<"createThread">>;
  /** What is left out stays, null clears. */
  update(id: string, change: Body<"updateThread">): Promise<Answer<"updateThread">>;
  /** With all that belongs to it. */
  delete(id: string, query?: Query<"deleteThread">): Promise<void>;
  /** The log of a thread. */
  messages(id: string, query?: Query<"listMessages">): Promise<Answer<"listMessages">>;
  /** The oldest first. */
  runs(id: string, query?: Query<"listThreadRuns">): Promise<Answer<"listThreadRuns">>;
  /** What the log keeps of it; `attach` follows. */
  events(id: string, query?: Query<"listThreadEvents">): Promise<Answer<"listThreadEvents">>;
}

export interface RunVerbs {
  /** The oldest first. */
  list(query?: Query<"listRuns">): Promise<Answer<"listRuns">>;
  /** One run. */
  load(id: string): Promise<Answer<"loadRun">>;
  /** What the log keeps of it; `attach` follows. */
  events(id: string, query?: Query<"listRunEvents">): Promise<Answer<"listRunEvents">>;
  /** Messages for this run and no other: refused with `channel_closed` when it is over. Default mode `steer`. */
  send(id: string, input: RunRequest["input"], options?: Pick<Body<"sendInputs">, "mode">): Promise<Answer<"sendInputs">>;
}
