import { AwakenError } from "@awaken/contract";
import type { Row } from "../sql/rows.ts";

// The part of `pg` that is used here, so that a pool of the host fits whatever version of its types the host has.

export type Parameter = string | number | null | readonly (string | number | null)[];

export interface PgQuery {
  /** What a connection prepares once and finds again by this; without one it is parsed each time. */
  readonly name?: string | undefined;
  readonly text: string;
  readonly values: Parameter[];
}

export interface PgResult {
  readonly rows: readonly Row[];
  readonly command: string;
}

export interface PgField {
  readonly name: string;
  readonly dataTypeID: number;
}

export interface PgSocket {
  cork?(): void;
  uncork?(): void;
  /** False when nothing that is written goes anywhere any more. */
  readonly writable?: boolean;
}

/** What a query is sent with, where `pg` speaks the protocol itself. */
export interface PgConnection {
  /** While it is corked, messages wait to be sent together. */
  readonly stream?: PgSocket;
  /** The texts that this connection has prepared, by name. */
  readonly parsedStatements?: { readonly [name: string]: string | undefined };
  parse?(message: { readonly name: string; readonly text: string; readonly types: string[] }, more: boolean): void;
  bind?(message: { readonly portal: string; readonly statement: string; readonly values: (string | null)[] }, more: boolean): void;
  describe?(message: { readonly type: "P"; readonly name: string }, more: boolean): void;
  execute?(whole: null, more: boolean): void;
  sync?(): void;
}

export interface PgClient {
  query(query: PgQuery | string): Promise<PgResult>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  on(event: "notification", listener: (message: { readonly payload?: string | undefined }) => void): unknown;
  removeListener(event: "error", listener: () => void): unknown;
  /** True or an error closes the connection instead of giving it back. */
  release(broken?: boolean | Error): void;
  /** Whether queries are sent without waiting for the answers to those before. */
  readonly pipeline?: boolean;
  readonly connection?: PgConnection;
  /** How a column of this type is read. */
  getTypeParser?(oid: number, format: "text"): (text: string) => unknown;
}

export interface PgPool {
  connect(): Promise<PgClient>;
  end(): Promise<void>;
}

export interface PoolOptions {
  readonly url: string;
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** False when connections are handed from one to another: then nothing may be set that stays. */
  readonly hasSessions: boolean;
}

/** How long a transaction of our own may be silent between two trips: whoever takes longer has stopped, and holds what others need. */
export const IDLE_LIMIT = "5s";
/** What a hanging peer may cost others: a lock is waited for, and a transaction may idle, only so long. */
const LIMITS = `SET lock_timeout = '30s'; SET idle_in_transaction_session_timeout = '${IDLE_LIMIT}'`;
/** The same, for the transaction that has just begun. */
export const LIMIT_TRANSACTION: PgQuery = {
  text: `SELECT set_config('lock_timeout', '30s', true), set_config('idle_in_transaction_session_timeout', '${IDLE_LIMIT}', true)`,
  values: [],
};
/** Whatever a database has as its default: what is read after a lock has to be what is there after the wait for it. */
export const ISOLATION = "READ COMMITTED";
/**
 * Plans outlive the moment at which they were made: one that reads a table from end to end, which is best while it has a page, would be kept
 * while it grows to thousands. What an index cannot answer is still read in that way, and not compiled for having been thought dear.
 */
const PLANS = "SET enable_seqscan = off; SET jit = off";
/** For whatever is sent without a BEGIN. */
const SESSION = `${LIMITS}; ${PLANS}; SET default_transaction_isolation = '${ISOLATION}'`;

/** A pool of our own. `pg` is loaded here and nowhere else. */
export async function createPool({ url, connections, connectTimeoutMs, hasSessions }: PoolOptions): Promise<PgPool> {
  const { Pool } = await importPg();
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
  });
  // An idle connection that breaks is replaced; whoever uses one hears of it from its query.
  pool.on("error", () => {});
  if (hasSessions) {
    pool.on("connect", (client) => {
      client.query(SESSION).catch(() => {});
    });
  }
  return pool;
}

async function importPg() {
  try {
    const module = await import("pg");
    return module.default;
  } catch (cause) {
    throw new AwakenError("storage_io", "the PostgreSQL store needs the package 'pg': run `npm install pg`", { cause });
  }
}
