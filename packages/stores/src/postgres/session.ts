import { AwakenError } from "@awaken/contract";
import { overError } from "../sql/env.ts";
import type { Row } from "../sql/rows.ts";
import { type Asking, Askings, askAlone } from "./askings.ts";
import { type Finish, PART, perform, type Tx, WHOLE } from "./attempt.ts";
import type { Connections, Lease } from "./connections.ts";
import { commitUnknown, toStorageError } from "./errors.ts";
import { type Guess, Guesses } from "./guesses.ts";
import { type Statement, sql } from "./statement.ts";

/** How ports get at the database. */
export interface Session {
  /** One statement, which sees one moment. */
  read(statement: Statement): Promise<readonly Row[]>;
  /**
   * All of the writes or none; durable when the promise resolves. `work` reads, decides and changes nothing: outside of a transaction it
   * runs again when another writer was in the way. What could be guessed may share its transaction with what others guessed; else, or when
   * that is refused, `work` is done.
   */
  write<T>(work: (tx: Tx) => Promise<Finish<T>>, guess?: Guess<T>): Promise<T>;
  /** As `write`. Outside of a transaction it may be together with others who ask, and need not be on the disk before what is written later. */
  ask<T>(asking: Asking<T>): Promise<T>;
}

/** Longer work sees one moment; when others have changed what it writes, it is refused. */
const BEGIN_LONG = sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
/** The caller of a transaction may take longer between two trips. SET and no SELECT: the first SELECT fixes what the transaction sees. */
const LIMIT_LONG = sql("SET LOCAL idle_in_transaction_session_timeout = '60s'");

const ignore = () => {};

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
  readonly #guesses: Guesses;
  readonly #askings: Askings;

  constructor(connections: Connections) {
    this.#connections = connections;
    this.#guesses = new Guesses(connections);
    this.#askings = new Askings(connections);
  }

  read(statement: Statement): Promise<readonly Row[]> {
    return this.#connections.use(async (lease) => (await send(lease, [statement]))[0]?.rows ?? []);
  }

  async write<T>(work: (tx: Tx) => Promise<Finish<T>>, guess?: Guess<T>): Promise<T> {
    if (guess !== undefined) return this.#connections.during(() => this.#guesses.join(guess, work));
    const finish = await this.#connections.use((lease) => perform(lease, WHOLE, work));
    finish.tell?.();
    return finish.result;
  }

  ask<T>(asking: Asking<T>): Promise<T> {
    return this.#connections.during(() => this.#askings.join(asking));
  }

  async transaction<T>(work: (inside: Session) => Promise<T>): Promise<T> {
    return this.#connections.use(async (lease) => {
      const inside = new InnerSession(lease);
      await send(lease, [BEGIN_LONG, LIMIT_LONG]);
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

  ask<T>(asking: Asking<T>): Promise<T> {
    return this.write((tx) => askAlone(tx, asking, false));
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
