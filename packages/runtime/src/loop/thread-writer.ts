import {
  AwakenError,
  type EventAppend,
  MAX_COMMIT_ATTEMPTS,
  type Message,
  type MessageId,
  NO_USAGE,
  RUN_SCHEMA_VERSION,
  type RunActivation,
  type RunIdentity,
  type RunProjection,
  type RunRecord,
  type ScopedStore,
  type Termination,
} from "@awaken/contract";
import { canonicalEvent, messageCommitted } from "./canonical-events.ts";
import type { Checkpoint, CheckpointPort } from "./commit.ts";

export interface ThreadWriterInit {
  readonly store: ScopedStore;
  readonly identity: RunIdentity;
  readonly activation: RunActivation;
  /** Ids of the messages that the run answers. */
  readonly input: readonly MessageId[];
  /** The stored run, when it goes on. */
  readonly resumed: RunRecord | undefined;
  /** Rows in the log when the thread was read. */
  readonly messageCount: number;
  readonly now: () => number;
}

type Body = Omit<Extract<RunProjection, { status: "created" }>, "status">;

/** Turns a run's checkpoints into commits of its thread: the one durable write. */
export class ThreadWriter implements CheckpointPort {
  readonly #init: ThreadWriterInit;
  readonly #createdAt: number;
  #count: number;
  #isNew: boolean;
  #isResumed: boolean;
  #output: Body["output"];

  constructor(init: ThreadWriterInit) {
    this.#init = init;
    this.#count = init.messageCount;
    this.#createdAt = init.resumed?.createdAt ?? init.now();
    this.#isNew = init.resumed === undefined;
    this.#isResumed = init.resumed !== undefined && init.resumed.status !== "created";
    this.#output = init.resumed?.output;
  }

  /** Somebody else may have appended meanwhile: then the same delta goes behind what they wrote. */
  async write(checkpoint: Checkpoint): Promise<{ readonly rowsBefore: number }> {
    for (let attempt = 1; ; attempt++) {
      const rowsBefore = this.#count;
      try {
        const result = await this.#commit(checkpoint);
        this.#count = result.messageCount;
        return { rowsBefore };
      } catch (thrown) {
        if (!AwakenError.is(thrown) || thrown.code !== "message_version_conflict" || attempt >= MAX_COMMIT_ATTEMPTS) throw thrown;
        const actual = thrown.details["actual"];
        if (typeof actual !== "number") throw thrown;
        this.#count = actual;
      }
    }
  }

  async #commit(checkpoint: Checkpoint) {
    const { store, identity } = this.#init;
    const { threadId, runId } = identity;
    const messages = checkpoint.delta(this.#count);
    const run = this.#project(checkpoint, messages);
    const result = await store.commit({
      threadId,
      runId,
      run,
      events: this.#events(checkpoint, messages),
      ...(messages.length === 0 ? {} : { messageDelta: { messages, expectedMessageCount: this.#count } }),
      ...(this.#isNew ? { isNewRun: true } : {}),
      ...(Object.keys(checkpoint.threadState.extensions).length === 0 ? {} : { threadState: checkpoint.threadState }),
    });
    this.#isNew = false;
    this.#isResumed = true;
    this.#output = run.output;
    return result;
  }

  #events({ events }: Checkpoint, messages: readonly Message[]): readonly EventAppend[] {
    const { identity } = this.#init;
    let isResumed = this.#isResumed;
    return [
      ...messages.map((message, index) => messageCommitted(identity, message, this.#count + 1 + index)),
      ...events.map((event) => {
        const fact = canonicalEvent(identity, event, isResumed);
        if (event.type === "run-start") isResumed = true;
        return fact;
      }),
    ];
  }

  /** From the first to the last row that the run wrote itself. */
  #outputRange(messages: readonly Message[]): Body["output"] {
    const own = messages.flatMap((message, index) =>
      message.role === "assistant" || message.role === "tool" ? [this.#count + 1 + index] : [],
    );
    const last = own.at(-1);
    return last === undefined ? this.#output : { fromSeq: this.#output?.fromSeq ?? own[0] ?? last, toSeq: last };
  }

  #project(checkpoint: Checkpoint, messages: readonly Message[]): RunProjection {
    const { identity, activation, input, resumed, now } = this.#init;
    const output = this.#outputRange(messages);
    const at = now();
    const body: Body = {
      schemaVersion: RUN_SCHEMA_VERSION,
      runId: identity.runId,
      threadId: identity.threadId,
      agentId: identity.agentId,
      activation,
      input: resumed?.input ?? { triggerMessageIds: input, selectedMessageIds: [] },
      createdAt: this.#createdAt,
      updatedAt: at,
      steps: checkpoint.tally.steps,
      usage: checkpoint.tally.usage ?? NO_USAGE,
      state: checkpoint.runState,
      decided: checkpoint.decided,
      ...(output === undefined ? {} : { output }),
      ...(identity.dispatchId === undefined ? {} : { dispatchId: identity.dispatchId }),
      ...(identity.sessionId === undefined ? {} : { sessionId: identity.sessionId }),
    };
    return withStatus(body, checkpoint, resumed !== undefined && "startedAt" in resumed ? (resumed.startedAt ?? at) : this.#createdAt, at);
  }
}

function withStatus(body: Body, { lifecycle, tickets, tally, ending }: Checkpoint, startedAt: number, at: number): RunProjection {
  switch (lifecycle.status) {
    case "created":
      return { ...body, status: "created" };
    case "running":
      return { ...body, status: "running", startedAt };
    case "waiting":
      return { ...body, status: "waiting", startedAt, waiting: { reason: lifecycle.waitingReason ?? "suspended", tickets } };
    case "done":
      return {
        ...body,
        status: "done",
        startedAt,
        finishedAt: at,
        outcome: {
          termination: final(lifecycle.termination ?? ending),
          response: tally.response,
          ...(tally.output === undefined ? {} : { output: tally.output.value }),
        },
      };
  }
}

function final(termination: Termination | undefined): Exclude<Termination, { type: "suspended" }> {
  if (termination === undefined || termination.type === "suspended") return { type: "error", message: "the run is done without a reason" };
  return termination;
}
