import { createHash } from "node:crypto";
import { AwakenError } from "@awaken/contract";
import { overError } from "../sql/env.ts";
import type { Row } from "../sql/rows.ts";
import type { PgClient, PgQuery } from "./driver.ts";
import { commitUnknown, isConnectionLost, isWorthAnotherTry, toStorageError } from "./errors.ts";
import type { Connections } from "./connections.ts";

/** SQL in which `~` stands for the schema of the store, and its values. */
export interface Statement {
  readonly text: string;
  readonly values: readonly Parameter[];
}

export type Parameter = string | number | null | readonly (string | number | null)[];

export const statement = (text: string, ...values: readonly Parameter[]): Statement => ({ text, values });

/** What a piece of work writes at its end, sent together with COMMIT. */
export interface Finish<T> {
  readonly writes: readonly Statement[];
  readonly result: T;
  /** Runs once the writes are durable. */
  readonly tell?: () => void;
}

export interface Tx {
  /** Sends the statements together; the rows of each, in order. */
  read(...statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>;
}

/** How ports get at the database. */
export interface Session {
  /** One statement, which sees one moment. */
  read(statement: Statement): Promise<readonly Row[]>;
  /** All of the writes or none; durable when the promise resolves. `work` may run again, so it does nothing but read. */
  write<T>(work: (tx: Tx) => Promise<Finish<T>>): Promise<T>;
}
