import type { Row } from "../sql/rows.ts";
import type { Lease } from "./connections.ts";
import { commitUnknown, isWorthAnotherTry, toStorageError } from "./errors.ts";
import { BEGIN, type Statement, sql } from "./statement.ts";

export interface Tx {
  /** Sends the statements together; gives the rows of each, in order. */
  read(...statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>;
  /** One statement, before anything is read: nothing is held for whoever looks, however long he takes to go on. */
  look(statement: Statement): Promise<readonly Row[]>;
}

/** How a piece of work ends: its writes are sent together with COMMIT. */
export interface Finish<T> {
  readonly writes: readonly Statement[];
  readonly result: T;
  /** Runs once the writes are durable. */
  readonly tell?: () => void;
  /** It was planned without asking: whether the work is done again, which then asks, after the server refused this. */
  readonly isWorthReading?: (thrown: unknown) => boolean;
}

const MAX_ATTEMPTS = 5;

export interface Frame {
  readonly begin: Statement;
  readonly commit: Statement;
  readonly rollBack: readonly Statement[];
  /** Its commit makes things durable. */
  readonly isWhole: boolean;
}

export const WHOLE: Frame = { begin: sql(BEGIN), commit: sql("COMMIT"), rollBack: [sql("ROLLBACK")], isWhole: true };
export const PART: Frame = {
  begin: sql("SAVEPOINT part"),
  commit: sql("RELEASE SAVEPOINT part"),
  rollBack: [sql("ROLLBACK TO SAVEPOINT part"), sql("RELEASE SAVEPOINT part")],
  isWhole: false,
};

const ignore = () => {};
const isNever = (_: unknown): boolean => false;

/** Work on one connection between the begin and the commit of a frame. */
export class Attempt implements Tx {
  readonly #lease: Lease;
  readonly #frame: Frame;
  #hasBegun = false;

  constructor(lease: Lease, frame: Frame) {
    this.#lease = lease;
    this.#frame = frame;
  }

  async read(...statements: readonly Statement[]): Promise<readonly (readonly Row[])[]> {
    const begin = this.#begin();
    const results = await this.#lease.send([...begin, ...statements]);
    return results.slice(begin.length).map((result) => result.rows);
  }

  async look(statement: Statement): Promise<readonly Row[]> {
    const [rows = []] = this.#frame.isWhole
      ? (await this.#lease.send([statement])).map((result) => result.rows)
      : await this.read(statement);
    return rows;
  }

  async finish(writes: readonly Statement[]): Promise<void> {
    if (!this.#hasBegun && writes.length === 0) return;
    // They are a transaction already.
    const isBare = this.#frame.isWhole && !this.#hasBegun && (writes.length === 1 || this.#lease.isAtomic);
    await this.#lease.send(isBare ? writes : [...this.#begin(), ...writes, this.#frame.commit]);
  }

  async rollBack(): Promise<void> {
    if (this.#hasBegun && !this.#lease.isLost) await this.#lease.send(this.#frame.rollBack).catch(ignore);
  }

  #begin(): readonly Statement[] {
    if (this.#hasBegun) return [];
    this.#hasBegun = true;
    return [this.#frame.begin];
  }
}

/** Until it is through, or fails for a reason that another try would not change. */
export async function perform<T>(lease: Lease, frame: Frame, work: (tx: Tx) => Promise<Finish<T>>): Promise<Finish<T>> {
  for (let tries = 1; ; tries++) {
    const attempt = new Attempt(lease, frame);
    let isCommitting = false;
    let isWorthReading = isNever;
    try {
      const finish = await work(attempt);
      isWorthReading = finish.isWorthReading ?? isNever;
      isCommitting = frame.isWhole && finish.writes.length > 0;
      await attempt.finish(finish.writes);
      return finish;
    } catch (thrown) {
      if (lease.isLost && isCommitting && lease.hasSent) throw commitUnknown(thrown);
      await attempt.rollBack();
      const isLast = lease.isLost || !frame.isWhole || tries === MAX_ATTEMPTS;
      if (isLast || !(isWorthReading(thrown) || isWorthAnotherTry(thrown))) throw toStorageError(thrown);
    }
  }
}
