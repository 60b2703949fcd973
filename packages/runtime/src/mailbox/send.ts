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
import type { DeliveryMode, NewPending } from "@awaken/contract/store";
import { type RequestInput, toMessages } from "../run/message-input.ts";
import { giveHint, inOne, type Ports } from "./in-one.ts";
import { Interruption } from "./interrupt.ts";
import { openRun, SEND_KEYS } from "./left-behind.ts";
import { listOpen } from "./open-dispatches.ts";
import type { Tenant } from "./tenant.ts";

export interface SendOptions {
  /**
   * `steer`: the run that is at work reads it after its current step; without one, or where another run than the named one is, it is
   * queued. A run that was named reads it alone: where it ends before, the message stays pending. `queue`: a run of its own answers it, when
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
   * the run waits for decisions, and reads them when it goes on; the next one does when it is cancelled. `refused`: nobody here is there to
   * read them, and they are not kept.
   */
  readonly status: "steered" | "queued" | "behind-tickets" | "refused";
  /**
   * The run that will read them first, as far as that is known: for `wait`, `attach` and `cancel`, also before it has begun. One that turns
   * out not to be needed, because the run at work read them when it ended, never begins: then `wait` is refused with `run_not_found`.
   */
  readonly runId?: RunId;
  /** Their ids, for `pending`. */
  readonly messageIds: readonly MessageId[];
}

interface Address {
  readonly threadId: ThreadId;
  /** The run that is not over, on that thread. */
  readonly open: RunRecord | undefined;
  /** Whether that run was named: nobody else reads what it is steered by. Another one, which is over or has not begun, steers none. */
  readonly named: "thread" | "open-run" | "other-run";
}

/** A run by its id, else a thread, else a run that is promised and has no record, else a thread that is not there yet. */
async function findAddress(ports: Pick<Ports, "runs" | "threads" | "dispatches">, id: string): Promise<Address> {
  const { runs, threads, dispatches } = ports;
  const [run, own] = [await runs.load(runId(id)), await threads.load(threadId(id))];
  if (run !== undefined && own !== undefined && own.id !== run.threadId) {
    throw new AwakenError("ambiguous_id", `'${id}' names a run and another thread`, { details: { id } });
  }
  const promised = run === undefined && own === undefined ? await dispatches.load(dispatchId(id)) : undefined;
  const named = run ?? (promised?.runId === id ? promised : undefined);
  const record = named === undefined ? own : await threads.load(named.threadId);
  const open = record?.openRunId === undefined ? undefined : await runs.load(record.openRunId);
  if (named === undefined) return { threadId: threadId(id), open, named: "thread" };
  return { threadId: named.threadId, open, named: named.runId === open?.runId ? "open-run" : "other-run" };
}

const pendingOf = (messages: readonly Message[], deliveryMode: Partial<DeliveryMode>): readonly NewPending[] =>
  messages.map((message) => ({ message, deliveryMode }));

/** Durable when it resolves. */
export async function sendDurably(tenant: Tenant, id: string, input: RequestInput, mode: SendMode): Promise<Sent> {
  threadId(id);
  const messages = toMessages(input, tenant.ids);
  if (messages.length === 0) throw new AwakenError("invalid_activation", "invalid activation: there is no message");
  const messageIds = messages.map((message) => message.id);
  if (mode === "interrupt") return { status: "queued", runId: await sendInstead(tenant, id, messages), messageIds };
  // What is said to a run of this process has its turn at its thread.
  const thread = tenant.parts.active.byRun(runId(id))?.threadId ?? threadId(id);
  const sent = await tenant.inTurn(thread, () => inOne(tenant, "keep a message", (ports) => place(tenant, ports, { id, messages, mode })));
  if (sent.status !== "queued") await giveHint(tenant, { type: "wake", threadId: sent.threadId, runId: sent.runId });
  return { status: sent.status, runId: sent.runId, messageIds };
}

async function sendInstead(tenant: Tenant, id: string, messages: readonly Message[]): Promise<RunId> {
  const { threadId: thread } = await tenant.ask("find a thread", findAddress(tenant.queue, id));
  return Interruption.through(tenant, thread, (interruption) =>
    inOne(tenant, "queue a message", async (ports) => {
      await interruption.apply(ports, "stay");
      return queueUp(tenant, ports, { thread, messages, mode: "interrupt" });
    }),
  );
}

interface Placed {
  readonly status: "steered" | "queued" | "behind-tickets";
  readonly threadId: ThreadId;
  readonly runId: RunId;
}

/**
 * Looks and writes in one transaction, which touches the thread: a run that ends or parks at this moment finds the message in its last
 * commit, or this finds the run ended.
 */
async function place(
  tenant: Tenant,
  ports: Ports,
  { id, messages, mode: asked }: { readonly id: string; readonly messages: readonly Message[]; readonly mode: "queue" | "steer" },
): Promise<Placed> {
  const { threadId: thread, open, named } = await findAddress(ports, id);
  const mode = named === "other-run" ? "queue" : asked;
  const isBehindTickets = open?.status === "waiting" && open.waiting.tickets.length > 0;
  if (open !== undefined && (isBehindTickets || (mode === "steer" && open.status === "running"))) {
    const boundary = mode === "steer" ? "next-step" : "on-natural-end";
    const isForIt = named === "open-run" && mode === "steer";
    const append = pendingOf(messages, { boundary, targetRunId: open.runId, fallbackToNewRun: !isForIt });
    await ports.commit({ threadId: thread, runId: open.runId, pending: { append } });
    return { status: isBehindTickets ? "behind-tickets" : "steered", threadId: thread, runId: open.runId };
  }
  return { status: "queued", threadId: thread, runId: await queueUp(tenant, ports, { thread, messages, mode: "queue" }) };
}

/** Where a run of the thread waits for decisions, it reads this when it goes on: decisions stay what it waits for. */
export async function placeBehindTickets(ports: Ports, thread: ThreadId, messages: readonly Message[]): Promise<RunId | undefined> {
  const open = await openRun(ports, thread);
  if (open?.status !== "waiting" || open.waiting.tickets.length === 0) return undefined;
  const append = pendingOf(messages, { boundary: "on-natural-end", targetRunId: open.runId });
  await ports.commit({ threadId: thread, runId: open.runId, pending: { append } });
  return open.runId;
}

const isSent = (key: string | undefined): boolean => SEND_KEYS.some((each) => each === key);

interface Queued {
  readonly thread: ThreadId;
  readonly messages: readonly Message[];
  readonly mode: "queue" | "interrupt";
}

async function queueUp({ ids, maxAttempts }: Tenant, ports: Ports, { thread, messages, mode }: Queued): Promise<RunId> {
  const open = (await listOpen(ports.dispatches, thread)).filter(({ dedupeKey }) => isSent(dedupeKey));
  const queued = open.find(({ status }) => status === "queued");
  const id = queued?.runId ?? runId(ids());
  const dedupeKey = SEND_KEYS.find((key) => !open.some((other) => other.dedupeKey === key));
  const isNeeded = queued === undefined && dedupeKey !== undefined;
  const dispatch = { dispatchId: dispatchId(id), threadId: thread, runId: id, maxAttempts, ...(isNeeded ? { dedupeKey } : undefined) };
  await ports.commit({
    threadId: thread,
    runId: id,
    // A run that began meanwhile does not read what was said instead of going on.
    pending: { append: pendingOf(messages, mode === "interrupt" ? { boundary: mode, targetRunId: id } : {}) },
    ...(isNeeded ? { dispatch: { type: "enqueue", dispatch } } : undefined),
  });
  return id;
}
