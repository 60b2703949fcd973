import { AwakenError, checkOptions, type PartRules, RULES, type ScopeId, threadId } from "@awaken/contract";
import type { DeadLetterVerbs } from "./mailbox/dead-letters.ts";
import type { Interrupted } from "./mailbox/interrupt.ts";
import type { PendingVerbs } from "./mailbox/pending.ts";
import type { QueueVerbs } from "./mailbox/queue-verbs.ts";
import type { SendOptions, Sent } from "./mailbox/send.ts";
import type { Started, StartRequest } from "./mailbox/submit.ts";
import type { AttachedEvents, AttachOptions } from "./relay/attached-event.ts";
import { attach } from "./relay/late-attach.ts";
import type { LateReaders } from "./relay/readers.ts";
import { cancel, cancelAndWait, send, type WaitOptions } from "./run/control.ts";
import type { DecisionInput, TicketDecision } from "./run/decision-input.ts";
import { toMessages } from "./run/message-input.ts";
import { moreRoom } from "./run/more-door.ts";
import { type BusyStart, submit } from "./run/on-busy.ts";
import type { Finding } from "./run/reconcile.ts";
import type { RewindOptions, Rewound } from "./run/rewind.ts";
import type { TenantParts } from "./run/run-parts.ts";
import type { RunRequest } from "./run/run-request.ts";
import type { RunResult } from "./run/run-result.ts";
import { openStream, type RunStream } from "./run/run-stream.ts";
import { type Begin, startRequest } from "./run/start-request.ts";
import type { LateStore } from "./runtime-late-store.ts";
import { checkOpen } from "./stream/closed.ts";
import { type Late, whenThere, withRoom } from "./stream/door.ts";

/**
 * The verbs over the threads, runs, tickets and profiles of one tenant. Ids of two tenants may be the same and never meet. It is cheap,
 * and there is nothing to close; when the runtime is closed, every verb is refused as `cancelled`.
 */
export interface ScopedRuntime {
  /** The tenant. */
  readonly scopeId: ScopeId;
  /** Runs to the end, or to the next decision. */
  run<O>(request: RunRequest<O>): Promise<RunResult<O>>;
  /**
   * Puts a run into the queue of the store, and returns when that is durable: workers of whatever process execute it, one after the other
   * on a thread. `capability_mismatch` when the store has no queue.
   */
  start(request: StartRequest): Promise<Started>;
  /** The same, with its events. Leaving the iteration detaches; the run goes on. */
  stream<O>(request: RunRequest<O>): RunStream<O>;
  /**
   * Decides a ticket; the run goes on in this process. The decision is on record when this resolves, with the run from there on: its
   * events and its result. The same decision id twice decides once. One for a call that does not wait yet is kept by the run at work until it does,
   * and is on record then.
   */
  decide(ticket: string, decision: DecisionInput): Promise<RunStream>;
  /** Several tickets of one run, all or none. */
  decideAll(decisions: readonly TicketDecision[]): Promise<RunStream>;
  /**
   * Puts on record what became of a call whose outcome was lost, by its ticket or its idempotency key, when a later message has closed it
   * or its run is over. Nothing runs: it is the call's result from then on.
   */
  reconcile(target: string, finding: Finding): Promise<void>;
  /**
   * Takes a message and all that came behind it out of what models see, in one commit; the log, the thread's state and the effect ledger keep
   * what they have. A run that waits there is cancelled, and its tickets are closed. Gives what was taken, to be edited and sent again.
   * Refuses: `thread_already_running`, `thread_not_found`, `storage_not_found` for a message that is unknown or not in view.
   */
  rewind(thread: string, options: RewindOptions): Promise<Rewound>;
  /** The result of a run, when it is over or waits, in whatever process it is executed. */
  wait(runId: string, options?: WaitOptions): Promise<RunResult>;
  /** Goes on with a run that was cut off (its record says running, and nobody executes it), or that waits for what has expired. */
  resume(runId: string): Promise<RunResult>;
  /**
   * By run id or thread id. True when a run was told to stop, in whatever process: one that is at work is told, one that waits or was cut off is
   * ended. On a thread where all are queued it is the next one, with its messages.
   */
  cancel(id: string): Promise<boolean>;
  /** The same, and waits up to 5 s, or as told, until the thread is free. */
  cancelAndWait(
    id: string,
    options?: {
      /** How long to wait. Default 5 s. */
      readonly timeoutMs?: number;
    },
  ): Promise<boolean>;
  /**
   * Follows a run or a thread, by its id: what is on record, then what happens, in whatever process it does. Each committed event comes
   * once; the last of a commit has a cursor, and `after` goes on behind it. A run is followed to its end, a thread over waits and runs
   * until you leave. Refuses, when it is read: `run_not_found` for an unknown id, `cursor_expired` for a cursor that is unknown, of another
   * thread or too old, `invalid_id` for a blank one.
   */
  attach(id: string, options?: AttachOptions): AttachedEvents;
  /**
   * Messages for a thread, or for a run and nobody else. With a `mode` they are durable when this resolves, whoever executes the run, and a
   * thread where nobody is at work gets a run that answers them; that needs a store with a queue. Without one they are for a run that is at
   * work in this process, read after its current step at the earliest, and `refused` when there is none.
   */
  send(id: string, input: RunRequest["input"], options?: SendOptions): Promise<Sent>;
  /**
   * Ends what is at work on the thread, in whatever process, and cancels what is queued there: runs that were started, and messages that were sent and nobody has read. Waits up to 5 s for the last words of the run,
   * so that they are kept: `thread_already_running` when they do not come, and then nothing has changed. `thread_not_found` when there is nothing.
   */
  interrupt(thread: string): Promise<Interrupted>;
  /** Messages that were sent and that no run has read. */
  readonly pending: PendingVerbs;
  /** Work that nobody could bring to an end: to be looked at, put into the queue again, or given up. */
  readonly deadLetters: DeadLetterVerbs;
}

const SEND_OPTIONS: PartRules<SendOptions> = { mode: RULES.oneOf("queue", "steer", "interrupt") };

/** For a run that is at work here, and nobody else. */
function sendLive(parts: TenantParts, id: string, input: RunRequest["input"]): Sent {
  const messages = toMessages(input, parts.ids);
  const isSent = send(parts, id, messages);
  return { status: isSent ? "steered" : "refused", messageIds: messages.map((message) => message.id) };
}

/** What needs a queue, which is refused without one, and waits until the mailbox is loaded. */
type Queue = (verb: string) => Late<QueueVerbs>;

function pendingOf(queue: Queue): PendingVerbs {
  const verbs = () => whenThere(queue("pending"), ({ pending }) => pending);
  return {
    list: async (thread) => withRoom(verbs(), thread, (room, given) => room.list(given)),
    edit: async (...edit) => withRoom(verbs(), edit, (room, given) => room.edit(...given)),
    retract: async (...message) => withRoom(verbs(), message, (room, given) => room.retract(...given)),
    reorder: async (...order) => withRoom(verbs(), order, (room, given) => room.reorder(...given)),
  };
}

function deadLettersOf(queue: Queue): DeadLetterVerbs {
  const verbs = () => whenThere(queue("deadLetters"), ({ deadLetters }) => deadLetters);
  return {
    list: async (query) => withRoom(verbs(), query, (room, given) => room.list(given)),
    replay: async (id) => withRoom(verbs(), id, (room, given) => room.replay(given)),
    drop: async (id) => withRoom(verbs(), id, (room, given) => room.drop(given)),
  };
}

function needsQueue(verb: string): never {
  throw new AwakenError("capability_mismatch", `${verb} needs a store with a queue: give the runtime one, such as sqliteStore`, {
    details: { verb },
  });
}

/** The verbs of one tenant, each refused when the runtime is closed. */
export function verbsOf(parts: TenantParts, readers: LateReaders, store: LateStore | undefined): ScopedRuntime {
  const { scopeId } = parts;
  const open = (): TenantParts => {
    checkOpen(parts.closing);
    return parts;
  };
  /** What reads runs that are on record, and where they are. */
  const recorded = () => {
    open();
    return whenThere(parts.all(), (all) =>
      whenThere(moreRoom.open(), (room) => {
        open();
        return { room, all };
      }),
    );
  };
  const queue: Queue = (verb) => {
    open();
    return whenThere(store?.open(), (opened) => opened?.mailbox?.verbs(scopeId) ?? needsQueue(verb));
  };
  /** Where other processes can get at the threads. */
  const elsewhere = store?.hasQueue === true ? queue : undefined;
  const throughQueue = elsewhere && (async (start: BusyStart) => whenThere(elsewhere("onBusy"), (room) => room.submit(start)));
  const beginAs =
    (request: Pick<RunRequest, "onBusy">): Begin =>
    (order, told) =>
      submit(parts, order, request.onBusy ?? "refuse", told, throughQueue);
  return {
    scopeId,
    run: async (request) => startRequest(parts, request, beginAs(request)).result,
    start: async (request) => withRoom(queue("start"), request, (room, given) => room.start(given)),
    stream: (request) => openStream(parts, request, beginAs(request)),
    decide: async (ticket, decision) => withRoom(recorded(), [{ ticket, decision }], ({ room, all }, given) => room.decide(all, given)),
    decideAll: async (decisions) => withRoom(recorded(), decisions, ({ room, all }, given) => room.decide(all, given)),
    reconcile: async (...finding) => withRoom(recorded(), finding, ({ room, all }, given) => room.reconcile(all, ...given)),
    rewind: async (...options) => withRoom(recorded(), options, ({ room, all }, given) => room.rewind(all, ...given)),
    wait: async (id, options) => withRoom(recorded(), options, ({ room, all }, given) => room.wait(all, id, given)),
    resume: async (id) => {
      const { room, all } = await recorded();
      return room.resume(all, id).catch((thrown: unknown) => {
        // A worker of this process was faster: the run goes on, as it was asked to.
        if (typeof id === "string" && store?.opened?.mailbox?.isTakenUp(scopeId, id) === true) return room.wait(all, id);
        throw thrown;
      });
    },
    cancel: async (id) => (await cancel(open(), id)) || (elsewhere !== undefined && (await elsewhere("cancel")).cancel(id)),
    cancelAndWait: async (id, options) =>
      cancelAndWait(open(), id, options, elsewhere && (async (named, ms) => (await elsewhere("cancelAndWait")).end(named, ms))),
    attach: (id, options) => attach(readers, scopeId, id, options),
    send: async (id, input, options) => {
      if (options !== undefined) checkOptions("invalid_activation", "send", options, SEND_OPTIONS);
      const mode = options?.mode;
      if (mode === undefined) return sendLive(open(), id, input);
      return withRoom(queue("send with a mode"), input, (room, given) => room.send(id, given, mode));
    },
    interrupt: async (thread) => (await queue("interrupt")).interrupt(threadId(thread)),
    pending: pendingOf(queue),
    deadLetters: deadLettersOf(queue),
  };
}
