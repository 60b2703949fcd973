import { closedError } from "../sql/env.ts";
import type { PgClient, PgPool, PgResult } from "./driver.ts";
import { isConnectionLost, toStorageError } from "./errors.ts";
import { migrate } from "./migrations.ts";
import { Statements, type Statement, sendAll } from "./statement.ts";

const ignore = () => {};

export interface ConnectionsInit {
  readonly schema: string;
  /** Opens the pool; called once it is needed. */
  readonly openPool: () => Promise<PgPool>;
  /** Whether the pool is ours to end. */
  readonly isOwn: boolean;
}

/** The pool of a store. Tables are migrated before the first use; when that fails, the next use tries again. */
export class Connections {
  readonly schema: string;
  readonly #init: ConnectionsInit;
  readonly #statements: Statements;
  readonly #active = new Set<Promise<unknown>>();
  #pool: Promise<PgPool> | undefined;
  #closed: Promise<void> | undefined;

  constructor(init: ConnectionsInit) {
    this.#init = init;
    this.schema = init.schema;
    this.#statements = new Statements(init.schema);
  }

  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  /** Lends a connection to `work`. Errors of the engine come out as they are; a connection that broke is not lent again. */
  async use<T>(work: (client: PgClient) => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) throw closedError();
    const used = this.#lend(work);
    this.#active.add(used);
    try {
      return await used;
    } finally {
      this.#active.delete(used);
    }
  }

  send(client: PgClient, statements: readonly Statement[]): Promise<readonly PgResult[]> {
    return sendAll(
      client,
      statements.map((statement) => this.#statements.toQuery(statement)),
    );
  }

  /** A connection of one's own, until it is released. */
  async take(): Promise<PgClient> {
    const pool = await this.#open();
    return pool.connect();
  }

  /** Waits for what is under way; idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#shut();
    return this.#closed;
  }

  async #shut(): Promise<void> {
    await Promise.allSettled(this.#active);
    if (this.#init.isOwn) await this.#pool?.then((pool) => pool.end(), ignore);
  }

  async #lend<T>(work: (client: PgClient) => Promise<T>): Promise<T> {
    const client = await this.take();
    let broken = false;
    // Without a listener a connection that breaks would end the process.
    client.on("error", ignore);
    try {
      return await work(client);
    } catch (thrown) {
      broken = isConnectionLost(thrown);
      throw thrown;
    } finally {
      client.removeListener("error", ignore);
      client.release(broken);
    }
  }

  #open(): Promise<PgPool> {
    if (this.#pool === undefined) {
      const opening = this.#openMigrated();
      this.#pool = opening;
      opening.catch(() => {
        if (this.#pool === opening) this.#pool = undefined;
      });
    }
    return this.#pool;
  }

  async #openMigrated(): Promise<PgPool> {
    const pool = await this.#init.openPool();
    try {
      await migrate(pool, this.schema);
      return pool;
    } catch (thrown) {
      if (this.#init.isOwn) await pool.end().catch(ignore);
      throw toStorageError(thrown);
    }
  }
}
