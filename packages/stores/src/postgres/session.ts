import { AwakenError } from "@awaken/contract";
import { overError } from "../sql/env.ts";
import type { Row } from "../sql/rows.ts";
import type { Connections, Lease } from "./connections.ts";
import { commitUnknown, isWorthAnotherTry, toStorageError } from "./errors.ts";
import { BEGIN, type Statement, sql } from "./statement.ts";

export interface Tx {
  /** Sends the statements together; gives the rows of each, in order. */
  read(...statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>;
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

/** How ports get at the database. */
export interface Session {
  /** One statement, which sees one moment. */
  read(statement: Statement): Promise<readonly Row[]>;
  /**
   * All of the writes or none; durable when the promise resolves. `work` reads, decides and changes nothing: outside of a transaction it
   * runs again when another writer was in the way.
   */
  write<T>(work: (tx: Tx) => Promise<Finish<T>>): Promise<T>;
}

const MAX_ATTEMPTS = 5;

interface Frame {
  readonly begin: Statement;
  readonly commit: Statement;
  readonly rollBack: readonly Statement[];
  /** Its commit makes things durable. */
  readonly isWhole: boolean;
}

/** Longer work sees one moment; when others have changed what it writes, it is refused. */
const BEGIN_LONG = sql("BEGIN ISOLATION LEVEL REPEATABLE READ");

const WHOLE: Frame = { begin: sql(BEGIN), commit: sql("COMMIT"), rollBack: [sql("ROLLBACK")], isWhole: true };
const PART: Frame = {
  begin: sql("SAVEPOINT part"),
  commit: sql("RELEASE SAVEPOINT part"),
  rollBack: [sql("ROLLBACK TO SAVEPOINT part"), sql("RELEASE SAVEPOINT part")],
  isWhole: false,
};

const ignore = () => {};
const isNever = (_: unknown): boolean => false;

/** Work on one connection between the begin and the commit of a frame. */
class Attempt implements Tx {
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
async function perform<T>(lease: Lease, frame: Frame, work: (tx: Tx) => Promise<Finish<T>>): Promise<Finish<T>> {
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

async function send(lease: Lease, statements: readonly Statement[]) {
  try {
    return await lease.send(statements);
  } catch (thrown) {
    throw toStorageError(thrown);
  }
}

/** Each piece of work on a connection of the pool. */
export class PooledSession implements Session {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  read(statement: Statement): Promise<readonly Row[]> {
    return this.#connections.use(async (lease) => (await send(lease, [statement]))[0]?.rows ?? []);
  }

  async write<T>(work: (tx: Tx) => Promise<Finish<T>>): Promise<T> {
    const finish = await this.#connections.use((lease) => perform(lease, WHOLE, work));
    finish.tell?.();
    return finish.result;
  }

  async transaction<T>(work: (inside: Session) => Promise<T>): Promise<T> {
    return this.#connections.use(async (lease) => {
      const inside = new InnerSession(lease);
      await send(lease, [BEGIN_LONG]);
      let result: T;
      try {
        result = await work(inside);
      } catch (thrown) {
        await inside.end();
        await lease.send(WHOLE.rollBack).catch(ignore);
        throw thrown;
      }
      await inside.end();
      await commit(lease);
      inside.tell();
      return result;
    });
  }
}

async function commit(lease: Lease): Promise<void> {
  if (lease.isLost) throw new AwakenError("storage_io", "the connection to PostgreSQL was lost, and the transaction with it");
  let command: string | undefined;
  try {
    const [result] = await lease.send([WHOLE.commit]);
    command = result?.command;
  } catch (thrown) {
    throw lease.isLost && lease.hasSent ? commitUnknown(thrown) : toStorageError(thrown);
  }
  if (command !== "COMMIT") throw new AwakenError("storage_io", "PostgreSQL has rolled this transaction back");
}

/** The way of a transaction that holds its connection: each piece of work has a savepoint, one after the other. */
class InnerSession implements Session {
  readonly #lease: Lease;
  readonly #told: (() => void)[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(lease: Lease) {
    this.#lease = lease;
  }

  read(statement: Statement): Promise<readonly Row[]> {
    return this.#enqueue(async () => {
      try {
        const [, result] = await this.#lease.send([PART.begin, statement, PART.commit]);
        return result?.rows ?? [];
      } catch (thrown) {
        if (!this.#lease.isLost) await this.#lease.send(PART.rollBack).catch(ignore);
        throw toStorageError(thrown);
      }
    });
  }

  write<T>(work: (tx: Tx) => Promise<Finish<T>>): Promise<T> {
    return this.#enqueue(async () => {
      const { result, tell } = await perform(this.#lease, PART, work);
      if (tell !== undefined) this.#told.push(tell);
      return result;
    });
  }

  /** Refuses new work and waits for what is under way. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#last;
  }

  tell(): void {
    for (const tell of this.#told) tell();
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isOver) return Promise.reject(overError());
    const next = this.#last.then(work);
    this.#last = next.catch(ignore);
    return next;
  }
}
