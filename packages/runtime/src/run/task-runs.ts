import { errorMessage, type RunId, type RunIdentity, type RunRecord, runId, type TaskEvent, threadId } from "@awaken/contract";
import type { TaskFate, TaskRunOrder, TaskRuns } from "../builtin/background/task-runs.ts";
import { resumeOrder } from "../loop/resume-order.ts";
import type { RunOrder } from "../loop/run-order.ts";
import type { Resolution } from "../resolve/resolver.ts";
import { checkOpen } from "../stream/closed.ts";
import { derivedId } from "../stream/derived-id.ts";
import { agentPathOf, checkDepth } from "./agent-path.ts";
import { toMessages } from "./message-input.ts";
import { RunBell } from "./run-bell.ts";
import type { RunParts, StartRun } from "./run-parts.ts";
import { settled } from "./settled.ts";
import { endNews, endOfTask } from "./task-news.ts";

const OPEN = ["created", "running", "waiting"] as const;

/** Agents in the background of the threads of one tenant. Where there is a queue each is a dispatch of its own, else a run of this process. */
export class BackgroundRuns implements TaskRuns {
  readonly #parts: RunParts;
  readonly #resolution: Resolution;
  readonly #start: StartRun;

  /** `parts` are those of the runtime: what it starts does not end with the run that asks. */
  constructor(parts: RunParts, resolution: Resolution, start: StartRun) {
    this.#parts = parts;
    this.#resolution = resolution;
    this.#start = start;
  }

  check(agentId: string, parent: RunIdentity): void {
    checkDepth(parent, agentId, this.#parts.maxDelegationDepth);
    this.#resolution.resolve(agentId);
  }

  idOf(key: string): RunId {
    const { holds, ids, scopeId } = this.#parts;
    return runId(holds === undefined ? ids() : derivedId(JSON.stringify([scopeId, key])));
  }

  async fate(id: RunId): Promise<TaskFate | undefined> {
    const { records, holds, active } = this.#parts;
    const run = await records.runs.load(id);
    const taskId = run?.activation.trace.taskId;
    if (run === undefined || taskId === undefined) return undefined;
    // One that is about to leave tells of its end itself.
    if (holds === undefined && active.byRun(id) !== undefined) return { type: "open", taskId };
    if (run.status === "done") return { type: "over", taskId, news: holds === undefined ? endNews(run) : undefined };
    const isExecuted = holds !== undefined || run.status === "waiting";
    return isExecuted ? { type: "open", taskId } : { type: "lost" };
  }

  async start(order: TaskRunOrder): Promise<void> {
    const { holds, log } = this.#parts;
    const run = this.#order(order);
    if (holds !== undefined) return holds.submit(run);
    const { result } = this.#start(this.#parts, run);
    result.catch((thrown: unknown) => {
      log.error(`an agent in the background could not begin: ${errorMessage(thrown)}`, { runId: order.runId });
      const { taskId, parent } = order;
      this.#parts.tasks.tell(parent.threadId, { kind: "failed", taskId, error: errorMessage(thrown) });
    });
  }

  async cancel(ids: readonly RunId[]): Promise<void> {
    const { records, holds, log, active } = this.#parts;
    for (const id of ids) {
      try {
        active.byRun(id)?.cancel();
        const run = await records.runs.load(id);
        if (run === undefined || run.status === "done") continue;
        if (holds !== undefined) await holds.cancel(run);
        else if (run.status === "waiting" && active.byRun(id) === undefined) await this.#end(run);
      } catch (thrown) {
        log.warn(`an agent in the background could not be told to stop: ${errorMessage(thrown)}`, { runId: id });
      }
    }
  }

  async listOpen(parentRunId: RunId): Promise<readonly RunId[]> {
    const { records, log } = this.#parts;
    try {
      const { items } = await records.runs.list({ parentRunId, statuses: OPEN, limit: 1_000 });
      return items.filter(({ activation }) => activation.trace.taskId !== undefined).map((run) => run.runId);
    } catch (thrown) {
      log.warn(`agents in the background could not be listed: ${errorMessage(thrown)}`, { runId: parentRunId });
      return [];
    }
  }

  async send(id: RunId, event: TaskEvent): Promise<boolean> {
    const { holds, active } = this.#parts;
    const here = active.byRun(id);
    if (holds === undefined) return here?.inbox.tryPush({ type: "task", event }) === true;
    return holds.post(threadId(id), event, id);
  }

  async ended(id: RunId): Promise<TaskEvent> {
    const { records, live, clock, closing } = this.#parts;
    using bell = new RunBell(live, id);
    for (;;) {
      await settled(this.#parts, id, Number.POSITIVE_INFINITY);
      const run = await records.runs.load(id);
      const event = run?.status === "done" ? endOfTask(run) : undefined;
      if (event !== undefined) return event;
      checkOpen(closing);
      await bell.wait(clock, Number.POSITIVE_INFINITY, closing);
    }
  }

  /** It waits here, and nobody will ever let it go on. */
  async #end(run: RunRecord): Promise<void> {
    const started = this.#start(this.#parts, { ...resumeOrder(run, []), isEnding: true });
    started.run.cancel();
    await started.result;
  }

  #order({ agentId, input, taskId, runId: id, parent, principal, traceParent: ofCall }: TaskRunOrder): RunOrder {
    const { runId: parentRunId, threadId: parentThreadId, rootRunId = parentRunId, correlationId } = parent;
    const traceParent = ofCall ?? parent.traceParent;
    const agentPath = [...agentPathOf(parent), agentId];
    const ancestors = [...(parent.ancestors ?? []), { runId: parentRunId, threadId: parentThreadId }];
    return {
      threadId: threadId(id),
      intent: { type: "new", runId: id },
      agentId,
      input: toMessages(input, this.#parts.ids),
      namedMessages: [],
      trace: {
        ...{ origin: "subagent", runMode: "scheduled", parentRunId, parentThreadId, rootRunId, agentPath, ancestors, taskId },
        ...(traceParent === undefined ? undefined : { traceParent }),
        ...(correlationId === undefined ? undefined : { correlationId }),
      },
      options: {},
      principal,
    };
  }
}
