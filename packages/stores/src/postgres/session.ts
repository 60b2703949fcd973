import { AwakenError } from "@awaken/contract";
import { overError } from "../sql/env.ts";
import type { Row } from "../sql/rows.ts";
import type { Connections } from "./connections.ts";
import type { PgClient } from "./driver.ts";
import { commitUnknown, isConnectionLost, isWorthAnotherTry, toStorageError } from "./errors.ts";
import { type Statement, sql } from "./statement.ts";

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
}

/** How ports get at the database. */
export interface Session {
  /** One statement, which sees one moment. */
  read(statement: Statement): Promise<readonly Row[]>;
  /**
   * All of the writes or none; durable when the promise resolves. `work` reads, decides and changes nothing: it runs again when another
   * transaction was in the way.
   */
  write<T>(work: (tx: Tx) => Promise<Finish<T>>): Promise<T>;
}

const MAX_ATTEMPTS = 5;

interface Frame {
  readonly begin: Statement;
  readonly commit: Statement;
  readonly rollBack: readonly Statement[];
}

const WHOLE: Frame = { begin: sql("BEGIN"), commit: sql("COMMIT"), rollBack: [sql("ROLLBACK")] };
const PART: Frame = {
  begin: sql("SAVEPOINT part"),
  commit: sql("RELEASE SAVEPOINT part"),
  rollBack: [sql("ROLLBACK TO SAVEPOINT part"), sql("RELEASE SAVEPOINT part")],
};

/** Work on one connection between the begin and the commit of a frame. */
class Attempt implements Tx {
  readonly #connections: Connections;
  readonly #client: PgClient;
  readonly #frame: Frame;
  #hasBegun = false;

  constructor(connections: Connections, client: PgClient, frame: Frame) {
    this.#connections = connections;
    this.#client = client;
    this.#frame = frame;
  }

  async read(...statements: readonly Statement[]): Promise<readonly (readonly Row[])[]> {
    const before = this.#begin();
    const results = await this.#connections.send(this.#client, [...before, ...statements]);
    return results.slice(before.length).map((result) => result.rows);
  }

  /** A lone write is a transaction already. */
  async finish(writes: readonly Statement[], isAlone: boolean): Promise<void> {
    if (!this.#hasBegun && writes.length === 0) return;
    const isBare = isAlone && !this.#hasBegun && writes.length === 1;
    const statements = isBare ? writes : [...this.#begin(), ...writes, this.#frame.commit];
    await this.#connections.send(this.#client, statements);
  }

  async rollBack(): Promise<void> {
    if (this.#hasBegun) await this.#connections.send(this.#client, this.#frame.rollBack);
  }

  #begin(): readonly Statement[] {
    if (this.#hasBegun) return [];
    this.#hasBegun = true;
    return [this.#frame.begin];
  }
}

/** Until it is through, or fails for a reason that another try would not change. */
async function perform<T>(start: () => Attempt, work: (tx: Tx) => Promise<Finish<T>>, isAlone: boolean): Promise<Finish<T>> {
  for (let tries = 1; ; tries++) {
    const attempt = start();
    let isCommitting = false;
    try {
      const finish = await work(attempt);
      isCommitting = finish.writes.length > 0;
      await attempt.finish(finish.writes, isAlone);
      return finish;
    } catch (thrown) {
      if (isConnectionLost(thrown)) throw isAlone && isCommitting ? new LostCommit(thrown) : thrown;
      await attempt.rollBack();
      if (!isWorthAnotherTry(thrown) || tries === MAX_ATTEMPTS) throw thrown;
    }
  }
}

/** Keeps what broke the connection, so that it is not lent again. */
class LostCommit extends Error {
  override readonly name = "LostCommit";

  constructor(cause: unknown) {
    super("connection lost", { cause });
  }
}

function toError(thrown: unknown): AwakenError {
  return thrown instanceof LostCommit ? commitUnknown(thrown.cause) : toStorageError(thrown);
}

/** Every piece of work on a connection of the pool. */
export class PooledSession implements Session {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  async read(statement: Statement): Promise<readonly Row[]> {
    try {
      const [result] = await this.#connections.use((client) => this.#connections.send(client, [statement]));
      return result?.rows ?? [];
    } catch (thrown) {
      throw toStorageError(thrown);
    }
  }

  async write<T>(work: (tx: Tx) => Promise<Finish<T>>): Promise<T> {
    const connections = this.#connections;
    try {
      const finish = await connections.use((client) => perform(() => new Attempt(connections, client, WHOLE), work, true));
      finish.tell?.();
      return finish.result;
    } catch (thrown) {
      throw toError(thrown);
    }
  }

  async transaction<T>(work: (inside: Session) => Promise<T>): Promise<T> {
    try {
      return await this.#connections.use((client) => this.#hold(client, work));
    } catch (thrown) {
      throw thrown instanceof LostCommit || isEngineError(thrown) ? toError(thrown) : thrown;
    }
  }

  async #hold<T>(client: PgClient, work: (inside: Session) => Promise<T>): Promise<T> {
    const inside = new InnerSession(this.#connections, client);
    await this.#connections.send(client, [WHOLE.begin]);
    try {
      const result = await work(inside);
      await inside.end();
      await this.#commit(client);
      inside.tell();
      return result;
    } catch (thrown) {
      await inside.end();
      if (!(thrown instanceof LostCommit) && !inside.isBroken) await this.#connections.send(client, WHOLE.rollBack);
      throw inside.isBroken ? new BrokenTransaction(thrown) : thrown;
    }
  }

  async #commit(client: PgClient): Promise<void> {
    let command: string | undefined;
    try {
      const [result] = await this.#connections.send(client, [WHOLE.commit]);
      command = result?.command;
    } catch (thrown) {
      throw isConnectionLost(thrown) ? new LostCommit(thrown) : thrown;
    }
    if (command !== "COMMIT") throw new AwakenError("storage_io", "PostgreSQL has rolled this transaction back");
  }
}
