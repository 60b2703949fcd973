import { type AgentEvent, AwakenError, errorMessage, type RunId, runId, type ThreadId } from "@awaken/contract";
import type { LoopOutcome } from "../loop/finish.ts";
import type { RunOrder } from "../loop/run-order.ts";
import { cancel } from "../run/control.ts";
import type { RunParts } from "../run/run-parts.ts";
import type { OnBusy } from "../run/run-request.ts";
import { settled } from "../run/settled.ts";
import { type BegunRun, startRun } from "../run/start-run.ts";
import { onAbort } from "../stream/abort.ts";
import type { Listen } from "../stream/listeners.ts";
import { refuseBarrier } from "./barrier.ts";
import { cancelElsewhere } from "./control.ts";
import { Hold } from "./hold.ts";
import { didNotStop, Interruption, RELEASE_MS } from "./interrupt.ts";
import { startOrder } from "./submit.ts";
import { type Tenant, within } from "./tenant.ts";

/** Who may have the thread, and how somebody else's run is followed. */
export interface Foreground {
  readonly parts: RunParts;
  /** Undefined without a queue: then nobody else can get at the threads. */
  readonly tenant: Tenant | undefined;
  follow(runId: RunId): AsyncIterable<AgentEvent>;
}

/** Who is told of the run while it happens. */
type Told = Listen<AgentEvent> | undefined;

/** The ids of a run that begins when the thread is free. */
interface Handle {
  runId: RunId;
  readonly threadId: ThreadId;
}

/** Starts a run here, at once or when the thread is free, as whoever asks wants it. Throws, or rejects, when it cannot begin. */
export function submit(foreground: Foreground, order: RunOrder, onBusy: OnBusy, listen: Told): BegunRun {
  const { parts, tenant } = foreground;
  if (onBusy === "refuse") return startRun(parts, order, listen);
  if (parts.closing.aborted) throw new AwakenError("cancelled", "the runtime is closed");
  if (onBusy === "queue" && tenant === undefined) {
    throw new AwakenError("capability_mismatch", "onBusy: 'queue' needs a store with a queue: give the runtime one, such as sqliteStore", {
      details: { onBusy },
    });
  }
  const run: Handle = { runId: order.intent.runId ?? runId(parts.ids()), threadId: order.threadId };
  const named = { ...order, newRunId: run.runId };
  if (tenant === undefined) return { run, result: instead(parts, named, run, listen) };
  const result = onBusy === "queue" ? behind(foreground, tenant, named, run, listen) : interrupting(tenant, named, run, listen);
  return { run, result };
}

/** The run turns out to be one that exists: the handle says which. */
function begin(parts: RunParts, order: RunOrder, handle: Handle, listen: Told): Promise<LoopOutcome> {
  const { run, result } = startRun(parts, order, (event) => {
    handle.runId = run.runId;
    listen?.(event);
  });
  return result.then((ended) => {
    handle.runId = ended.runId;
    return ended;
  });
}

/** Ends what is at work, and begins in one transaction with what that voids. */
async function interrupting(tenant: Tenant, order: RunOrder, handle: Handle, listen: Told): Promise<LoopOutcome> {
  const { parts, holdInit } = tenant;
  await refuseBarrier(tenant, order.threadId);
  const work = (interruption: Interruption) => {
    const hold = new Hold(holdInit, undefined, (ports) => interruption.apply(ports, "stay"));
    return begin(parts, { ...order, holding: hold }, handle, listen);
  };
  return Interruption.through(tenant, order.threadId, work, order.signal);
}

/** The same where no other process can come between. */
async function instead(parts: RunParts, order: RunOrder, handle: Handle, listen: Told): Promise<LoopOutcome> {
  const { threadId, signal } = order;
  const here = parts.active.onThread(threadId);
  if (here !== undefined) {
    here.cancel("the run was interrupted");
    await within(parts, here.released, RELEASE_MS, signal ?? parts.closing);
    if (signal?.aborted) throw new AwakenError("cancelled", "nobody waits for the thread any more");
    if (parts.active.onThread(threadId) === here) throw didNotStop(threadId);
  }
  return begin(parts, order, handle, listen);
}

/** A thread that waits is not busy: it goes on with what is said now. */
async function isBusy({ queue, ask, parts }: Tenant, threadId: ThreadId): Promise<boolean> {
  if (parts.active.onThread(threadId) !== undefined) return true;
  const open = await ask("list dispatches", queue.dispatches.list(threadId, { statuses: ["queued", "claimed"], limit: 1 }));
  return open.length > 0;
}

const isRefused = (thrown: unknown): boolean => AwakenError.is(thrown) && thrown.code === "thread_already_running";

/** Behind whatever is at work or queued on the thread. Then it is executed by a worker, here or elsewhere, and followed. */
async function behind(foreground: Foreground, tenant: Tenant, order: RunOrder, handle: Handle, listen: Told): Promise<LoopOutcome> {
  const { parts } = foreground;
  if (!(await isBusy(tenant, order.threadId))) {
    try {
      return await begin(parts, order, handle, listen);
    } catch (thrown) {
      if (!isRefused(thrown)) throw thrown;
    }
  }
  const { runId: id } = handle;
  const own: RunOrder = { ...order, intent: { type: "new", runId: id } };
  await startOrder(tenant, own, { output: order.options.output, onBusy: "queue" });
  return ended(foreground, tenant, own, id, listen);
}

async function ended(foreground: Foreground, tenant: Tenant, order: RunOrder, id: RunId, listen: Told): Promise<LoopOutcome> {
  const { parts } = foreground;
  const { signal, checkOutput } = order;
  const stop = async () => (await cancel(parts, id)) || (await cancelElsewhere(tenant, id));
  const off = signal === undefined ? undefined : onAbort(signal, () => void stop().catch(() => false));
  const told = listen === undefined ? undefined : tell(foreground, id, listen);
  try {
    const result = await settled(parts, id, Number.POSITIVE_INFINITY);
    await told;
    // It may have been answered elsewhere: then the code of the schema has not seen the answer.
    if (result.isOutputAsked && result.status === "done" && result.output !== undefined) await checkOutput?.(result.output);
    return result;
  } finally {
    off?.();
  }
}

/** Whoever follows hears less when the log cannot be read; the run does not depend on it. */
async function tell({ follow, parts }: Foreground, id: RunId, listen: Listen<AgentEvent>): Promise<void> {
  try {
    for await (const event of follow(id)) listen(event);
  } catch (thrown) {
    parts.log.warn(`run '${id}' cannot be followed: ${errorMessage(thrown)}`, { runId: id });
  }
}
