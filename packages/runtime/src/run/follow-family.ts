import { type AgentEvent, AwakenError, type RunId, type RunRecord } from "@awaken/contract";
import { childOf } from "../commit/tickets.ts";
import { isLeft, type LoopResult } from "../loop/finish.ts";
import { resumeOrder } from "../loop/resume-order.ts";
import { storedCalls } from "../state/tool-call-states.ts";
import { checkOpen } from "../stream/closed.ts";
import { EventStream } from "../stream/event-stream.ts";
import type { Hearer } from "../stream/listeners.ts";
import { isCalled } from "./called-run.ts";
import { RootEar } from "./root-ear.ts";
import { RunBell } from "./run-bell.ts";
import type { RunParts } from "./run-parts.ts";
import type { RunResult } from "./run-result.ts";
import { RunStream } from "./run-stream.ts";
import { startRun } from "./start-run.ts";
import { wait } from "./wait.ts";

const FOLLOW_MS = 300_000;

const isTaken = (thrown: unknown): boolean =>
  AwakenError.is(thrown) && (thrown.code === "thread_already_running" || thrown.code === "fence_lost");

async function isWaitingFor({ records }: RunParts, run: RunRecord, child: RunId): Promise<boolean> {
  const head = await records.threads.loadHead(run.threadId);
  return storedCalls(head?.state).some(({ status, suspension }) => status === "suspended" && childOf(suspension) === child);
}

const couldNotGoOn = (runId: RunId, { code, message }: { readonly code?: string; readonly message: string }): AwakenError =>
  new AwakenError(code === "fence_lost" ? "fence_lost" : "storage_io", `run '${runId}' could not go on: ${message}`, {
    details: { runId },
  });

/** A run whose commits the store does not take goes nowhere, however often it is tried. */
function checkKept({ termination, runId, isKept }: LoopResult): void {
  if (!isKept && termination.type === "error") throw couldNotGoOn(runId, termination);
}

/** The child is over: its parent goes on, here unless somebody else was quicker. Resolves when it is past the child, and is over or waits. */
async function goOn(parts: RunParts, id: RunId, child: RunId): Promise<void> {
  const until = parts.clock.now() + FOLLOW_MS;
  using bell = new RunBell(parts.live, id);
  for (;;) {
    const active = parts.active.byRun(id);
    if (active?.result !== undefined) {
      await active.result.catch(() => {});
      await active.released;
    }
    const run = await parts.records.runs.load(id);
    if (run === undefined || run.status === "done") return;
    if (run.status === "waiting") {
      if (!(await isWaitingFor(parts, run, child))) return;
      try {
        const ended = await startRun(parts, resumeOrder(run, [])).result;
        if (!isLeft(ended)) {
          checkKept(ended);
          continue;
        }
      } catch (thrown) {
        if (!isTaken(thrown)) throw thrown;
      }
    }
    const left = until - parts.clock.now();
    if (left <= 0)
      throw new AwakenError("timeout", `run '${id}' does not go on, although what it waited for is over`, { details: { runId: id } });
    await bell.wait(parts.clock, left, parts.closing);
    checkOpen(parts.closing);
  }
}

async function climb(parts: RunParts, ended: RunResult, root: RunRecord): Promise<RunResult> {
  for (let id = ended.runId; id !== root.runId; ) {
    const run = await parts.records.runs.load(id);
    if (id === ended.runId && ended.status === "failed" && run?.status !== "done") throw couldNotGoOn(id, ended.error);
    if (run?.status !== "done" || !isCalled(run)) break;
    const { parentRunId } = run;
    await goOn(parts, parentRunId, id);
    id = parentRunId;
  }
  return wait(parts, root.runId);
}

/** What a run below tells whoever follows the ones above it, until he leaves. How it failed, if it did, its result says. */
async function tellOf(below: RunStream, told: Hearer<AgentEvent>): Promise<void> {
  const reading = below[Symbol.asyncIterator]();
  const off = told.onDetach(() => void reading.return?.());
  try {
    for (let next = await reading.next(); next.done !== true; next = await reading.next()) {
      if (next.value.type === "ticket-open" || next.value.type === "decision-taken") told.push(next.value);
    }
  } catch {
  } finally {
    off();
  }
}

/**
 * A ticket of a run below others was decided: whoever decided is given the root, whose ticket it is for people. Its result comes when the
 * root is over, or when something in its family waits again; its events are what happens to tickets below it, then its own when it goes on
 * here.
 */
export async function followFamily(parts: RunParts, leaf: RunRecord, below: RunStream): Promise<RunStream> {
  const root = isCalled(leaf) && leaf.rootRunId !== undefined ? await parts.records.runs.load(leaf.rootRunId) : undefined;
  if (root === undefined) return below;
  const events = new EventStream<AgentEvent, RunResult>();
  const ear = new RootEar({ scopeId: parts.scopeId, runId: root.runId }, events);
  const off = parts.active.onBegin(ear.began);
  const told = tellOf(below, events);
  const result = below.result.then(async (ended) => {
    await told;
    ear.open(parts.active.byRun(root.runId));
    return climb(parts, ended, root);
  });
  result.finally(off).then(
    (ended) => events.end(ended),
    (thrown) => events.fail(thrown),
  );
  return new RunStream({ run: { runId: root.runId, threadId: root.threadId }, result }, events);
}
