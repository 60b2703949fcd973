import {
  AwakenError,
  dispatchId,
  type Message,
  type MessageId,
  type RunId,
  type RunRecord,
  runId,
  type ThreadId,
  threadId,
} from "@awaken/contract";
import type { DeliveryMode, NewPending, ThreadCommit } from "@awaken/contract/store";
import { type RequestInput, toMessages } from "../run/message-input.ts";
import { interrupt } from "./interrupt.ts";
import type { Tenant } from "./tenant.ts";

export interface SendOptions {
  /**
   * `steer`: the run that is at work reads it after its current step; without one it is queued. `queue`: a run of its own answers it, when
   * the thread is free. `interrupt`: what is at work on the thread is cancelled first. Default: nothing is kept, and only a run of this
   * process is told.
   */
  readonly mode?: SendMode;
}

export type SendMode = "queue" | "steer" | "interrupt";

/** What becomes of messages that were sent. They are durable, and pending until a run reads them. */
export interface Sent {
  /**
   * `steered`: the run reads them after its current step. `queued`: a run of their own does, or the one at work when it ends. `behind-tickets`:
   * the run waits for decisions, and reads them when it goes on. `refused`: nobody here is there to read them, and they are not kept.
   */
  readonly status: "steered" | "queued" | "behind-tickets" | "refused";
  /** Where they are: the run that will read them first, as far as that is known. */
  readonly runId?: RunId;
  /** Their ids, for `pending`. */
  readonly messageIds: readonly MessageId[];
}

interface Address {
  readonly threadId: ThreadId;
  /** The run that is not over, on that thread. */
  readonly open: RunRecord | undefined;
  /** Whether a run was named: nobody else reads what is said to it. */
  readonly isNamed: boolean;
}

/** A run by its id, else a thread, which need not exist yet. */
async function findAddress({ queue, ask }: Tenant, id: string): Promise<Address> {
  const named = await ask("load a run", queue.runs.load(runId(id)));
  const thread = named?.threadId ?? threadId(id);
  const open = (await ask("load a thread", queue.threads.loadHead(thread)))?.openRun;
  if (named !== undefined && thread !== id && (await ask("load a thread", queue.threads.load(threadId(id)))) !== undefined) {
    throw new AwakenError("ambiguous_id", `'${id}' names a run and another thread`, { details: { id } });
  }
  return { threadId: thread, open, isNamed: named !== undefined && named.runId === open?.runId };
}

const pendingOf = (messages: readonly Message[], deliveryMode: Partial<DeliveryMode>): readonly NewPending[] =>
  messages.map((message) => ({ message, deliveryMode }));

/** Durable when it resolves. */
export async function sendDurably(tenant: Tenant, id: string, input: RequestInput, mode: SendMode): Promise<Sent> {
  const messages = toMessages(input, tenant.ids);
  if (messages.length === 0) throw new AwakenError("invalid_activation", "invalid activation: there is no message");
  const address = await findAddress(tenant, id);
  const messageIds = messages.map((message) => message.id);
  const { open } = address;
  if (mode === "interrupt") {
    await interrupt(tenant, address.threadId, "if-any");
    return { status: "queued", runId: await queueUp(tenant, address.threadId, messages), messageIds };
  }
  if (open?.status === "waiting" && open.waiting.tickets.length > 0) {
    const boundary = mode === "steer" ? "next-step" : "on-natural-end";
    await append(tenant, open, pendingOf(messages, { boundary, targetRunId: open.runId }));
    return { status: "behind-tickets", runId: open.runId, messageIds };
  }
  if (mode === "steer" && open?.status === "running") {
    const delivery = { boundary: "next-step", targetRunId: open.runId, fallbackToNewRun: !address.isNamed } as const;
    await append(tenant, open, pendingOf(messages, delivery));
    return { status: "steered", runId: open.runId, messageIds };
  }
  return { status: "queued", runId: await queueUp(tenant, address.threadId, messages), messageIds };
}

async function append({ queue, ask }: Tenant, { threadId: thread, runId: run }: RunRecord, entries: readonly NewPending[]): Promise<void> {
  await ask("keep a message", queue.pending.append(thread, entries));
  await ask("give a hint", queue.dispatches.hint({ type: "wake", threadId: thread, runId: run }));
}

/** One dispatch is enough for all that waits: the run that it starts reads all of it. */
const SEND_KEY = "messages";

async function queueUp({ queue, ask, ids, maxAttempts }: Tenant, thread: ThreadId, messages: readonly Message[]): Promise<RunId> {
  const id = runId(ids());
  const base: ThreadCommit = { threadId: thread, runId: id, pending: { append: pendingOf(messages, {}) } };
  const dispatch = { dispatchId: dispatchId(id), threadId: thread, runId: id, maxAttempts, dedupeKey: SEND_KEY };
  try {
    await ask("queue a message", queue.commit({ ...base, dispatch: { type: "enqueue", dispatch } }));
    return id;
  } catch (thrown) {
    if (!AwakenError.is(thrown) || thrown.code !== "storage_already_exists" || thrown.details["dispatchId"] === undefined) throw thrown;
    await ask("queue a message", queue.commit(base));
    const open = await ask("list dispatches", queue.dispatches.list(thread, { statuses: ["queued", "claimed"] }));
    return open.find(({ dedupeKey }) => dedupeKey === SEND_KEY)?.runId ?? id;
  }
}
