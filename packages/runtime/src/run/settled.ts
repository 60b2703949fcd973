import {
  type AgentEvent,
  AwakenError,
  concludeRecord,
  errorMessage,
  isSettled,
  type RunId,
  type RunRecord,
  runIdentity,
  type SettledRun,
  runId as toRunId,
} from "@awaken/contract";
import { countedOf, isLeft, type LeftRun, type LoopOutcome, type LoopResult } from "../loop/finish.ts";
import { lastWords } from "../loop/messages.ts";
import { onAbort } from "../stream/abort.ts";
import { checkOpen } from "../stream/closed.ts";
import type { Hearer } from "../stream/listeners.ts";
import { sleep } from "../stream/sleep.ts";
import type { ActiveRun } from "./active-runs.ts";
import { isFamilyAtWork } from "./family-at-work.ts";
import { RunBell } from "./run-bell.ts";
import type { Awaited, RunParts } from "./run-parts.ts";
import { ticketsBelow } from "./tickets-below.ts";

const notFound = (id: string) => new AwakenError("run_not_found", `run not found: ${id}`, { details: { runId: id } });

export async function loadRun(parts: RunParts, id: string): Promise<RunRecord> {
  const run = await parts.records.runs.load(toRunId(id));
  if (run === undefined) throw notFound(id);
  return run;
}

/** A run that waits in the queue, and has no record before it begins. */
type Promised = { readonly status: "queued" } & Pick<RunRecord, "runId" | "threadId">;

/** The same. One that is promised, too. */
async function findRun({ records, holds }: RunParts, id: RunId): Promise<RunRecord | Promised> {
  const run = await records.runs.load(id);
  if (run !== undefined) return run;
  const unbegun = await holds?.unbegun(id);
  if (unbegun?.type === "queued") return { status: "queued", runId: id, threadId: unbegun.threadId };
  // It may have begun, and ended, between the two looks.
  const begun = unbegun === undefined ? undefined : await records.runs.load(id);
  if (begun !== undefined) return begun;
  throw unbegun?.error ?? notFound(id);
}

/** The same as its executor gives. A run that waits has said something too: it stands in the log. */
async function recordedResult({ records }: RunParts, run: SettledRun): Promise<LoopResult> {
  const outcome = run.status === "done" ? run.outcome : undefined;
  const conclusion = concludeRecord(run);
  const messages = outcome === undefined ? (await records.threads.loadHead(run.threadId))?.messages : undefined;
  return {
    runId: run.runId,
    threadId: run.threadId,
    text: outcome?.response ?? lastWords(messages ?? [], run.runId),
    status: run.status,
    waitingReason: run.status === "waiting" ? run.waiting.reason : undefined,
    termination: conclusion.termination,
    steps: run.steps,
    ...countedOf(runIdentity(run), run),
    recordedBelow: undefined,
    tickets: run.status === "waiting" ? await ticketsBelow(records, runIdentity(run)) : [],
    output: outcome?.output,
    isOutputAsked: run.activation.options.output !== undefined,
    isKept: true,
  };
}

/** Of a run that is executed here; one that leaves before its end is followed wherever it goes on. */
export async function followed(parts: RunParts, result: Promise<LoopOutcome>, told?: Hearer<AgentEvent>): Promise<LoopResult> {
  const ended = await result;
  return isLeft(ended) ? followedElsewhere(parts, ended, { told }) : ended;
}

/** A store that failed the run may fail whoever follows it too: it is asked again so often, after so long. */
const ASKS = 30;
const ASK_AGAIN_MS = 1_000;

/** How a run that left before its end comes to it. Whoever waits for it may still tell it to stop, and hears what happens meanwhile. */
export function followedElsewhere(parts: RunParts, left: LeftRun, awaited: Awaited = {}): Promise<LoopResult> {
  return awaitedElsewhere(parts, left, awaited, async () => {
    const here = parts.active.byRun(left.runId);
    if (here === undefined) await parts.holds?.cancel(left);
    else here.cancel();
  });
}

/** The same with whoever stops the run, wherever it is then: he is asked again when he rejects. */
export async function awaitedElsewhere(
  parts: RunParts,
  left: LeftRun,
  { signal, told }: Awaited,
  stop: () => Promise<unknown>,
): Promise<LoopResult> {
  const over = new AbortController();
  const off = signal === undefined ? undefined : onAbort(signal, () => void keepStopping(parts, stop, over.signal));
  const telling = told && tellElsewhere(parts, left, told, over.signal);
  const unexpect = parts.holds?.expect(left);
  try {
    return await elsewhere(parts, left);
  } finally {
    unexpect?.();
    off?.();
    over.abort();
    await telling;
  }
}

/** What was said once is not lost while a store fails: it is said again as long as somebody waits. */
async function keepStopping({ clock, log }: RunParts, stop: () => Promise<unknown>, over: AbortSignal): Promise<void> {
  for (let tries = 1; !over.aborted; tries++) {
    try {
      await stop();
      return;
    } catch (thrown) {
      if (tries === 1) log.warn(`a run could not be told to stop, and is told again: ${errorMessage(thrown)}`);
    }
    await sleep(clock, ASK_AGAIN_MS, over);
  }
}

/**
 * What happens in a run wherever it does, until `enough` is aborted: what is on record by then is told. Whoever leaves ends it at once; he hears
 * less when the log cannot be read.
 */
async function tellElsewhere(parts: RunParts, left: LeftRun, told: Hearer<AgentEvent>, enough: AbortSignal): Promise<void> {
  const gone = new AbortController();
  const off = told.onDetach(() => gone.abort());
  if (gone.signal.aborted) return;
  try {
    for await (const event of parts.follow(left, { enough, signal: gone.signal })) told.push(event);
  } catch (thrown) {
    parts.log.warn(`run '${left.runId}' cannot be followed: ${errorMessage(thrown)}`, { runId: left.runId });
  } finally {
    off();
  }
}

async function elsewhere(parts: RunParts, { runId: id }: LeftRun): Promise<LoopResult> {
  for (let asked = 1; ; asked++) {
    try {
      return await settled(parts, id, Number.POSITIVE_INFINITY);
    } catch (thrown) {
      if (asked === ASKS || !AwakenError.is(thrown) || thrown.code !== "storage_io") throw thrown;
    }
    await sleep(parts.clock, ASK_AGAIN_MS, parts.closing);
    checkOpen(parts.closing);
  }
}

/** Another process has the run: what it ended as here is not how it ended. */
const isTakenOver = ({ isKept, termination }: LoopResult): boolean =>
  !isKept && termination.type === "error" && termination.code === "fence_lost";

/** What an activation of this process came to. Undefined when that is not how the run stands: its record is, as it is now or will be. */
async function heard({ holds, records }: RunParts, active: ActiveRun | undefined): Promise<LoopResult | undefined> {
  if (active?.result === undefined) return undefined;
  try {
    const ended = await active.result;
    if (!isLeft(ended)) {
      // One that waits may be looked at before it has left, when somebody has decided already or its family is at work: its record, if it has one here, says so.
      const isOnRecord = ended.isKept && ended.status === "waiting" && (await records.runs.load(active.runId)) !== undefined;
      if (!isOnRecord && (holds === undefined || !isTakenOver(ended))) return ended;
    }
  } catch (thrown) {
    // It could not begin here. What is on record is another one's to go on with, or is tried again.
    if (holds === undefined || (await records.runs.load(active.runId)) === undefined) throw thrown;
  }
  await active.released;
  return undefined;
}

/** As its record has it, if it is over, or waits for somebody. One that waits for another run of its family goes on with that one. */
async function recorded(parts: RunParts, run: RunRecord | Promised, bell?: RunBell): Promise<LoopResult | undefined> {
  if (run.status === "queued" || !isSettled(run)) return undefined;
  const result = await recordedResult(parts, run);
  const isStill = run.status === "done" || result.tickets.length > 0 || !(await isFamilyAtWork(parts.records, run, bell));
  return isStill ? result : undefined;
}

function timedOut(id: RunId, { status }: RunRecord | Promised): AwakenError {
  if (status === "queued")
    return new AwakenError("timeout", `run '${id}' waits in the queue, and has not begun`, { details: { runId: id } });
  const why =
    status === "waiting" ? "goes on with another run, which is not over" : "nobody here executes it: if it was cut off, resume it";
  const message = `run '${id}' is ${status}, and ${why}`;
  return new AwakenError("timeout", message, { details: { runId: id, status } });
}

/** Resolves when the run is over or waits, by its executor if that is here, else by its record. */
export async function settled(parts: RunParts, id: RunId, until: number): Promise<LoopResult> {
  const here = await heard(parts, parts.active.byRun(id));
  if (here !== undefined) return here;
  // Whoever asks for a run that is not there, or is over, listens to nothing. What comes between the two looks is seen by the second.
  const run = await findRun(parts, id);
  const first = await recorded(parts, run);
  if (first !== undefined) return first;
  const isQueued = run.status === "queued" || run.status === "created";
  const unexpect = parts.holds?.expectWithin({ threadId: run.threadId, isQueued });
  try {
    return await settledLater(parts, id, until);
  } finally {
    unexpect?.();
  }
}

async function settledLater(parts: RunParts, id: RunId, until: number): Promise<LoopResult> {
  using bell = new RunBell(parts.live, id);
  for (;;) {
    const ending = await heard(parts, parts.active.byRun(id));
    if (ending !== undefined) return ending;
    const run = await findRun(parts, id);
    const result = await recorded(parts, run, bell);
    if (result !== undefined) return result;
    if (parts.active.byRun(id) !== undefined) continue;
    const left = until - parts.clock.now();
    if (left <= 0) throw timedOut(id, run);
    await bell.wait(parts.clock, left, parts.closing);
    checkOpen(parts.closing);
  }
}
