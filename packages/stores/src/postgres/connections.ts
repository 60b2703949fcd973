import { closedError } from "../sql/env.ts";
import { LIMIT_TRANSACTION, type PgClient, type PgPool, type PgResult } from "./driver.ts";
import { isConnectionLost, toStorageError } from "./errors.ts";
import { MIGRATIONS, migrate } from "./migrations.ts";
import type { ServerClock } from "./server-clock.ts";
import { canExchange, type Statement, Statements, sendAll } from "./statement.ts";

const ignore = () => {};

export interface ConnectionsInit {
  readonly schema: string;
  /** Called once the pool is needed. */
  readonly openPool: () => Promise<PgPool>;
  /** Whether the pool is ours to end. */
  readonly isOwn: boolean;
  /** Whether a connection of the pool stays the same one: false behind a pooler that hands out another with each transaction. */
  readonly hasSessions: boolean;
  /** Where notices are heard when it is not a connection of the pool; ours to end. */
  readonly openListener: (() => Promise<PgPool>) | undefined;
  /** Is told what time it is there before the first use. */
  readonly clock: ServerClock;
}

/** A connection while it is lent. */
export class Lease {
  readonly #client: PgClient;
  readonly #statements: Statements;
  /** Whether statements that are sent together are one transaction, in which each sees what is there when it begins. */
  readonly isAtomic: boolean;
  #isLost = false;
  #hasSent = false;

  constructor(client: PgClient, statements: Statements, isSet: boolean) {
    this.#client = client;
    this.#statements = statements;
    this.isAtomic = isSet && canExchange(client);
  }

  /** Nothing can be sent any more, and it is not known what became of what was sent last. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Whether the last of the statements that were sent last may have come to the server. */
  get hasSent(): boolean {
    return this.#hasSent;
  }

  /** Together if the connection can do that. Errors of the engine come out as they are. */
  async send(statements: readonly Statement[]): Promise<readonly PgResult[]> {
    const queries = statements.flatMap((statement) => this.#statements.toQueries(statement));
    this.#hasSent = false;
    const leave = () => {
      this.#hasSent = true;
    };
    try {
      const results = await sendAll(this.#client, queries, leave);
      return results.length === statements.length ? results : results.filter((_, index) => queries[index] !== LIMIT_TRANSACTION);
    } catch (thrown) {
      this.#isLost ||= isConnectionLost(thrown);
      throw thrown;
    }
  }
}

/** The pool of a store. Tables are migrated before the first use; when that fails, the next use tries again. */
export class Connections {
  readonly schema: string;
  readonly #init: ConnectionsInit;
  readonly #statements: Statements;
  readonly #active = new Set<Promise<unknown>>();
  #pool: Promise<PgPool> | undefined;
  #listener: Promise<PgPool> | undefined;
  #closed: Promise<void> | undefined;

  constructor(init: ConnectionsInit) {
    this.#init = init;
    this.schema = init.schema;
    this.#statements = new Statements(init.schema, init.hasSessions);
  }

  /** Whether there is a connection for somebody who only might hear something. */
  get canSpare(): boolean {
    return this.canListen && (this.#init.isOwn || this.#init.openListener !== undefined);
  }

  /** Whether there is a connection that notices come to. */
  get canListen(): boolean {
    return this.#init.hasSessions || this.#init.openListener !== undefined;
  }

  use<T>(work: (lease: Lease) => Promise<T>): Promise<T> {
    return this.during(() => this.lend(work));
  }

  /** Work that borrows its connections itself (`lend`), maybe later: the pool is closed when it is over. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) throw closedError();
    const used = work();
    this.#active.add(used);
    try {
      return await used;
    } finally {
      this.#active.delete(used);
    }
  }

  /** A connection of one's own, until it is released. */
  async take(): Promise<PgClient> {
    try {
      const pool = await this.#open();
      return await pool.connect();
    } catch (thrown) {
      throw toStorageError(thrown);
    }
  }

  /** A connection that stays the same one, for notices; the tables are there. */
  async takeListener(): Promise<PgClient> {
    const { openListener } = this.#init;
    if (openListener === undefined) return this.take();
    try {
      await this.#open();
      this.#listener ??= openListener();
      return await (await this.#listener).connect();
    } catch (thrown) {
      throw toStorageError(thrown);
    }
  }

  /** Whether queries may be named. */
  get hasSessions(): boolean {
    return this.#init.hasSessions;
  }

  /** Takes no more work and waits for what is under way, then for `last`; idempotent. */
  close(last: () => Promise<void>): Promise<void> {
    this.#closed ??= this.#shut(last);
    return this.#closed;
  }

  async #shut(last: () => Promise<void>): Promise<void> {
    await Promise.allSettled(this.#active);
    await last();
    const pool = await this.#pool?.catch(ignore);
    if (this.#init.isOwn) await pool?.end();
    await (await this.#listener?.catch(ignore))?.end();
  }

  /** For work inside of `during`: the pool does not wait for what is lent here. */
  async lend<T>(work: (lease: Lease) => Promise<T>): Promise<T> {
    const client = await this.take();
    const lease = new Lease(client, this.#statements, this.#init.isOwn && this.#init.hasSessions);
    // Without a listener a connection that breaks would end the process.
    client.on("error", ignore);
    try {
      return await work(lease);
    } finally {
      client.removeListener("error", ignore);
      client.release(lease.isLost);
    }
  }

  #open(): Promise<PgPool> {
    if (this.#pool !== undefined) return this.#pool;
    const opening = this.#openMigrated();
    this.#pool = opening;
    opening.catch(() => {
      if (this.#pool === opening) this.#pool = undefined;
    });
    return opening;
  }

  async #openMigrated(): Promise<PgPool> {
    const pool = await this.#init.openPool();
    try {
      await migrate(pool, this.schema, MIGRATIONS, this.#init.clock);
      return pool;
    } catch (thrown) {
      if (this.#init.isOwn) await pool.end().catch(ignore);
      throw thrown;
    }
  }
}
