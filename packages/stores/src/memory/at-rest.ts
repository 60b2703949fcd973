import { type DoneRun, RUN_SCHEMA_VERSION, type RunRecord } from "@awaken/contract";
import { small } from "@awaken/contract/store";

/**
 * A row that hardly anybody asks for any more, as one flat object: a record is three to nine objects, and the garbage collector copies
 * each of them twice. The first of its times is kept, and the others as how long after it: small numbers take no room of their own.
 */
export abstract class AtRest<Row> {
  /** Made for whoever asks. */
  abstract get record(): Row;
}

/** As a row is kept. */
export type Kept<Row> = Row | AtRest<Row>;

export function recordOf<Row extends object>(row: Kept<Row>): Row;
export function recordOf<Row extends object>(row: Kept<Row> | undefined): Row | undefined;
export function recordOf<Row extends object>(row: Kept<Row> | undefined): Row | undefined {
  return row instanceof AtRest ? row.record : row;
}

/** Rows by their ids, some of them at rest. */
export class Table<Id, Row extends object> {
  readonly #rows = new Map<Id, Kept<Row>>();

  get size(): number {
    return this.#rows.size;
  }

  has(id: Id): boolean {
    return this.#rows.has(id);
  }

  get(id: Id): Row | undefined {
    return recordOf(this.#rows.get(id));
  }

  set(id: Id, row: Kept<Row>): void {
    this.#rows.set(id, row);
  }

  delete(id: Id): void {
    this.#rows.delete(id);
  }

  values(): Iterable<Kept<Row>> {
    return this.#rows.values();
  }
}

/** All fields but these are there: one that is new has a place in what is kept, or it does not compile. */
type Usual<Row, Absent extends keyof Row> = Required<Omit<Row, Absent>>;

type StoredDone = DoneRun & Pick<RunRecord, "ordinal">;
type AbsentInRun = "parentRunId" | "rootRunId" | "principal" | "traceParent" | "sessionId" | "usageByModel" | "usageBelow" | "closed";
type UsualRun = Usual<StoredDone, AbsentInRun | "dispatchId"> & Pick<StoredDone, "dispatchId" | "usageByModel">;

function isUsualRun(run: RunRecord): run is RunRecord & UsualRun {
  if (run.status !== "done") return false;
  const { parentRunId, rootRunId, principal, traceParent, sessionId, usageBelow, closed, startedAt, output, state, answerId } = run;
  const unusual = parentRunId ?? rootRunId ?? principal ?? traceParent ?? sessionId ?? usageBelow ?? closed;
  return unusual === undefined && startedAt !== undefined && output !== undefined && state !== undefined && answerId !== undefined;
}

class RestingRun extends AtRest<RunRecord> {
  readonly #runId;
  readonly #threadId;
  readonly #agentId;
  readonly #activation;
  readonly #input;
  readonly #createdAt;
  readonly #updated;
  readonly #started;
  readonly #finished;
  readonly #steps;
  readonly #usage;
  readonly #usageByModel;
  readonly #state;
  readonly #decided;
  readonly #answerId;
  readonly #dispatchId;
  readonly #fromSeq;
  readonly #toSeq;
  readonly #termination;
  readonly #response;
  readonly #answer;
  readonly #ordinal;

  constructor(run: UsualRun) {
    super();
    const { createdAt, output, outcome } = run;
    this.#runId = run.runId;
    this.#threadId = run.threadId;
    this.#agentId = run.agentId;
    this.#activation = run.activation;
    this.#input = run.input;
    this.#createdAt = createdAt;
    this.#updated = small(run.updatedAt - createdAt);
    this.#started = small(run.startedAt - createdAt);
    this.#finished = small(run.finishedAt - createdAt);
    this.#steps = run.steps;
    this.#usage = run.usage;
    this.#usageByModel = run.usageByModel;
    this.#state = run.state;
    this.#decided = run.decided;
    this.#answerId = run.answerId;
    this.#dispatchId = run.dispatchId;
    this.#fromSeq = output.fromSeq;
    this.#toSeq = output.toSeq;
    this.#termination = outcome.termination;
    this.#response = outcome.response;
    this.#answer = outcome.output;
    this.#ordinal = run.ordinal;
  }

  get record(): RunRecord {
    const at = this.#createdAt;
    const outcome = { termination: this.#termination, response: this.#response };
    const run: UsualRun = {
      schemaVersion: RUN_SCHEMA_VERSION,
      runId: this.#runId,
      threadId: this.#threadId,
      agentId: this.#agentId,
      activation: this.#activation,
      input: this.#input,
      createdAt: at,
      updatedAt: at + this.#updated,
      steps: this.#steps,
      usage: this.#usage,
      state: this.#state,
      decided: this.#decided,
      answerId: this.#answerId,
      status: "done",
      startedAt: at + this.#started,
      output: { fromSeq: this.#fromSeq, toSeq: this.#toSeq },
      finishedAt: at + this.#finished,
      outcome: this.#answer === undefined ? outcome : { ...outcome, output: this.#answer },
      ordinal: this.#ordinal,
      ...(this.#usageByModel === undefined ? undefined : { usageByModel: this.#usageByModel }),
      ...(this.#dispatchId === undefined ? undefined : { dispatchId: this.#dispatchId }),
    };
    return run;
  }
}

/** How a run is kept that nobody is going to change. Its parts are the store's own. */
export const restRun = (run: RunRecord): Kept<RunRecord> => (isUsualRun(run) ? new RestingRun(run) : run);
