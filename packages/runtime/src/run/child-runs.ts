import {
  AwakenError,
  type ChildRun,
  type DelegatePersistence,
  type DoneRun,
  errorMessage,
  type RunId,
  type RunIdentity,
  runId,
  STATE_SCHEMA_VERSION,
  threadId,
} from "@awaken/contract";
import { MemoryThreads } from "../commit/memory-threads.ts";
import type { ChildEnd, ChildOrder, Children } from "../loop/children.ts";
import { countedOf, isLeft, type LoopOutcome } from "../loop/finish.ts";
import { resumeOrder } from "../loop/resume-order.ts";
import type { RunOrder } from "../loop/run-order.ts";
import type { RunPlan } from "../loop/run-plan.ts";
import type { RunRecords } from "../loop/run-records.ts";
import type { Resolution } from "../resolve/resolver.ts";
import { onAbort } from "../stream/abort.ts";
import { derivedId } from "../stream/derived-id.ts";
import { sleep } from "../stream/sleep.ts";
import type { ActiveRun, Written } from "./active-runs.ts";
import { agentPathOf, checkDepth } from "./agent-path.ts";
import { endHere, endOf, openResult, waitingStatus } from "./child-end.ts";
import { runRemote } from "./child-remote.ts";
import { toMessages } from "./message-input.ts";
import type { RunInit, RunParts, StartRun } from "./run-parts.ts";
import { ticketsBelow } from "./tickets-below.ts";

/** The same parts with something else in the place of some, for one run and what it waits for. */
function withParts(parts: RunParts, changes: Partial<RunParts>): RunParts {
  return { ...parts, ...changes, boundTo: (bounds) => withParts(parts.boundTo(bounds), changes) };
}

/** Records that go with the child. What it comes from is looked up where it is. */
function ephemeralRecords({ records, clock, scopeId }: RunParts): RunRecords {
  const own = new MemoryThreads(() => clock.now(), scopeId);
  return {
    ledger: undefined,
    runs: own.runs,
    messages: own.messages,
    threads: { load: async (id) => (await own.threads.load(id)) ?? records.threads.load(id), loadHead: own.threads.loadHead },
    commit: own.commit,
    transaction: (work) => own.transaction(work),
  };
}

const TAKEN: ReadonlySet<string> = new Set(["thread_already_running", "fence_lost", "invalid_resume"]);

/** Somebody else has begun it, or has ended it by now. */
const isTaken = (thrown: unknown): boolean => AwakenError.is(thrown) && TAKEN.has(thrown.code);

/** It is on record, whoever has begun it. */
const isThere = (thrown: unknown): boolean => AwakenError.is(thrown) && thrown.code === "storage_already_exists";

const isLost = (reason: unknown): boolean => AwakenError.is(reason) && reason.code === "fence_lost";

/** Somebody else has the run by now, or will have it: what is known of it here is not how it ended. */
const isElsewhere = (ended: LoopOutcome): boolean =>
  isLeft(ended) || (ended.termination.type === "error" && ended.termination.code === "fence_lost");

/** How long a store that failed is left alone before a child is begun once more: twice as long each time. */
const AGAIN_MS = 250;
const LAST_AGAIN_MS = 2_000;

function once<T>(tell: (about: T) => void): (about: T) => void {
  let isTold = false;
  return (about) => {
    if (!isTold) tell(about);
    isTold = true;
  };
}

const mayPass = (thrown: unknown): boolean => AwakenError.is(thrown) && (thrown.code === "storage_io" || thrown.code === "commit_unknown");

/** Nothing of it is on record, so nobody may wait for it. */
function notBegun({ runId: id }: ChildRun, ended: LoopOutcome | undefined): AwakenError {
  const failure = ended === undefined ? undefined : isLeft(ended) ? ended.failure : ended.termination;
  const why = failure !== undefined && "message" in failure ? failure.message : "it is not on record";
  return new AwakenError("storage_io", `run '${id}' could not be begun: ${why}`, { details: { runId: id } });
}

/** It has records of its own, and is not over. */
const openEnd = (child: ChildRun, steps: number): ChildEnd => ({
  ...{ child, result: openResult(child, steps), ending: undefined },
  ...{ isDurable: true, unrecorded: [], recorded: undefined },
});

const isDone = (written: Written | undefined): written is Written & { readonly run: DoneRun } => written?.run.status === "done";

/** The runs that one run starts in this process. Agents come from the registry snapshot of the run. */
export class ChildRuns implements Omit<Children, "ready"> {
  readonly #parts: RunParts;
  readonly #parent: ActiveRun;
  readonly #resolution: Resolution;
  readonly #start: StartRun;

  constructor({ parts, run, resolution, start }: RunInit) {
    this.#start = start;
    this.#parts = parts;
    this.#parent = run;
    this.#resolution = resolution;
  }

  get #identity(): RunIdentity {
    const { ctx, runId: id } = this.#parent;
    if (ctx === undefined) throw new AwakenError("cancelled", `run '${id}' is over: it starts no other`);
    return ctx.identity;
  }

  async run(order: ChildOrder): Promise<ChildEnd> {
    const { maxDelegationDepth, holds, ids } = this.#parts;
    const parent = this.#identity;
    const path = agentPathOf(parent);
    checkDepth(parent, order.agentId, maxDelegationDepth);
    const policy = order.policy ?? (holds === undefined ? "ephemeral" : "durable");
    this.#check(order, policy);
    const { backend } = this.#resolve(order.agentId);
    if (backend !== undefined) return runRemote(this.#parts, parent, order, backend);
    const id = policy === "durable" ? derivedId(order.key) : ids();
    const child: ChildRun = {
      runId: runId(id),
      threadId: threadId(id),
      agentId: order.agentId,
      agentPath: [...path, order.agentId],
      toolCallId: order.toolCallId,
    };
    return policy === "durable" ? this.#durable(order, child) : this.#ephemeral(order, child);
  }

  async find(id: RunId): Promise<ChildEnd | undefined> {
    const run = await this.#parts.records.runs.load(id);
    if (run?.status !== "done") return undefined;
    // A parent that parked before this was on its record does not know yet that it has started others.
    this.#parent.ctx?.tally.begunBelow();
    return this.#ended(run);
  }

  tickets() {
    return ticketsBelow(this.#parts.records, this.#identity);
  }

  /** Only an agent that is not there is not found. */
  #resolve(agentId: string): RunPlan {
    try {
      return this.#resolution.resolve(agentId);
    } catch (cause) {
      if (AwakenError.is(cause) && cause.code === "agent_not_found") throw cause;
      const why = `execution failed: failed to resolve agent '${agentId}': ${errorMessage(cause)}`;
      throw new AwakenError("backend_failed", why, { cause, details: { agentId } });
    }
  }

  #check({ agentId }: ChildOrder, policy: DelegatePersistence): void {
    const known: readonly string[] = ["ephemeral", "durable"];
    if (known.includes(policy) && (policy === "ephemeral" || this.#parts.holds !== undefined)) return;
    const message = `execution failed: agent '${agentId}' backend does not support: delegate-persistence`;
    throw new AwakenError("capability_mismatch", message, { details: { agentId, policy } });
  }

  async #durable(order: ChildOrder, child: ChildRun): Promise<ChildEnd> {
    const asked = order.isFirst ? order : { ...order, begun: once(order.begun) };
    try {
      return await this.#attempt(asked, child);
    } catch (thrown) {
      // One that is the first has begun, as far as anybody was told.
      return this.#again(order.isFirst ? { ...order, isFirst: false, begun: () => {} } : asked, child, thrown);
    }
  }

  /** What the store failed with may pass: it is asked again, for a few seconds. */
  async #again(order: ChildOrder, child: ChildRun, why: unknown): Promise<ChildEnd> {
    let failed = why;
    for (let delayMs = AGAIN_MS; delayMs <= LAST_AGAIN_MS && mayPass(failed); delayMs *= 2) {
      if (!(await sleep(this.#parts.clock, delayMs, order.signal))) break;
      try {
        return await this.#attempt(order, child);
      } catch (thrown) {
        failed = thrown;
      }
    }
    throw failed;
  }

  /** The first attempt may have started it: one that is over is not run again, and one that somebody is at work on is waited for. */
  async #attempt(order: ChildOrder, child: ChildRun): Promise<ChildEnd> {
    const known = order.isFirst ? undefined : await this.#parts.records.runs.load(child.runId);
    if (known?.status === "done") return this.#ended(known);
    if (known?.status === "waiting") return openEnd(child, known.steps);
    const parts = withParts(this.#parts, { resolver: this.#pinned() });
    const started = known === undefined ? this.#order(order, child) : resumeOrder(known, []);
    if (known === undefined) order.begun(child);
    let left: LoopOutcome | undefined;
    try {
      const { run, ended } = await this.#await(parts, { ...started, isAwaited: true }, order);
      const isHere = !isLeft(ended) && !isElsewhere(ended);
      if (isHere && ended.status !== "done") return openEnd(child, ended.steps);
      if (isHere && known === undefined && ended.isKept && isDone(run.written)) {
        return { ...(await endHere(this.#parts, ended, run.written)), isDurable: true, unrecorded: [] };
      }
      left = ended;
    } catch (thrown) {
      if (!isThere(thrown) && (order.isFirst || !isTaken(thrown))) throw thrown;
    }
    const now = await this.#parts.records.runs.load(child.runId);
    if (now === undefined) throw notBegun(child, left);
    if (now.status === "done") return this.#ended(now);
    // Whoever has it may have begun it for this run, when that was his: he wakes nobody. One that left from here is in the queue.
    if (now.status === "running" && !(left !== undefined && isLeft(left))) await this.#parts.holds?.submit(resumeOrder(now, []));
    return openEnd(child, now.steps);
  }

  async #ephemeral(order: ChildOrder, child: ChildRun): Promise<ChildEnd> {
    const records = ephemeralRecords(this.#parts);
    const parts = withParts(this.#parts, { resolver: this.#pinned(), records, holds: undefined, streams: undefined });
    order.begun(child);
    const { ended } = await this.#await(parts, this.#order({ ...order, isFirst: true }, child), order);
    const run = await records.runs.load(child.runId);
    const used = { unrecorded: run === undefined ? [] : countedOf(child, run).usageByAgent, recorded: [] };
    if (run?.status === "done") return { ...(await endOf(parts, run)), isDurable: false, ...used };
    const status = waitingStatus(isLeft(ended) ? undefined : ended.waitingReason);
    const steps = run?.steps ?? 0;
    return { child, result: { ...openResult(child, steps), status }, ending: undefined, isDurable: false, ...used };
  }

  /** A parent that was told to stop tells it; one that somebody else has by now leaves it to whoever comes. */
  async #await(
    parts: RunParts,
    order: RunOrder,
    { signal, hear, pass }: ChildOrder,
  ): Promise<{ readonly run: ActiveRun; readonly ended: LoopOutcome }> {
    const { run, result } = this.#start(parts, order);
    if (hear !== undefined) run.listeners.watch(hear);
    run.listeners.passUp(this.#parent.listeners, (event) => pass(event, run.runId));
    this.#parent.below ??= new Set();
    const below = this.#parent.below.add(run);
    const off = onAbort(signal, () => {
      if (isLost(signal.reason) && parts.holds !== undefined) void parts.holds.release(run);
      else run.controller.abort(signal.reason);
    });
    try {
      return { run, ended: await result };
    } finally {
      off();
      below.delete(run);
    }
  }

  #order({ isFirst, input, state, toolCallId, traceParent: ofCall }: ChildOrder, child: ChildRun): RunOrder {
    const { runId: parentRunId, threadId: parentThreadId, rootRunId = parentRunId, correlationId, ...identity } = this.#identity;
    const traceParent = ofCall ?? identity.traceParent;
    const extras = this.#parent.ctx?.options.extras;
    const ancestors = [...(identity.ancestors ?? []), { runId: parentRunId, threadId: parentThreadId }];
    return {
      threadId: child.threadId,
      intent: { type: "new", runId: child.runId, isUnseen: isFirst },
      agentId: child.agentId,
      input: toMessages(input, this.#parts.ids),
      namedMessages: [],
      trace: {
        ...{ origin: "subagent", parentRunId, parentThreadId, rootRunId, parentToolCallId: toolCallId },
        ...{ agentPath: child.agentPath, ancestors },
        ...(traceParent === undefined ? undefined : { traceParent }),
        ...(correlationId === undefined ? undefined : { correlationId }),
      },
      options: extras === undefined ? {} : { extras },
      principal: this.#parent.ctx?.principal,
      ...(state === undefined ? undefined : { seed: { schemaVersion: STATE_SCHEMA_VERSION, revision: 0, extensions: state } }),
    };
  }

  #pinned(): RunParts["resolver"] {
    const { resolver } = this.#parts;
    return { open: () => this.#resolution, agentIds: () => resolver.agentIds() };
  }

  async #ended(run: DoneRun): Promise<ChildEnd> {
    return { ...(await endOf(this.#parts, run)), isDurable: true, unrecorded: [], recorded: undefined };
  }
}
