import { createHash } from "node:crypto";
import { AwakenError } from "@awaken/contract";
import { ISOLATION, LIMIT_TRANSACTION, type Parameter, type PgClient, type PgQuery, type PgResult } from "./driver.ts";
import { Exchange, type ExchangingClient } from "./exchange.ts";

/** SQL in which `~` stands for the schema of the store, and the values of its parameters. */
export interface Statement {
  readonly text: string;
  readonly values: readonly Parameter[];
  /** It cannot be made one with others: it locks, or writes what others may write too. */
  readonly isAlone?: true;
  /** How the last of those that are made one with it calls the rows that it gives. */
  readonly name?: string;
}

export const sql = (text: string, ...values: readonly Parameter[]): Statement => ({ text, values });

export const BEGIN = `BEGIN ISOLATION LEVEL ${ISOLATION}`;

/** What lists of texts were made into, text by text: to look one up costs no string that is as long as all of them. */
interface Merged {
  readonly next: Map<string, Merged>;
  text: string | undefined;
}

/** Makes one statement of many, and remembers its text. */
export class Merger {
  readonly #merged: Merged = { next: new Map(), text: undefined };

  /**
   * As few statements as possible that do the same, for INSERTs, UPDATEs and DELETEs of which none sees or touches what another one writes,
   * and last of all a SELECT that may ask for what those with a name gave; those that stand alone come first.
   */
  together(statements: readonly Statement[]): readonly Statement[] {
    const parts = statements.filter((statement) => statement.isAlone !== true);
    if (parts.length < 2) return statements;
    const place = this.#placeOf(parts);
    place.text ??= merge(parts);
    const alone = statements.filter((statement) => statement.isAlone === true);
    return [...alone, { text: place.text, values: parts.flatMap(({ values }) => values) }];
  }

  #placeOf(parts: readonly Statement[]): Merged {
    let at = this.#merged;
    for (const { text } of parts) {
      const next = at.next.get(text) ?? { next: new Map(), text: undefined };
      at.next.set(text, next);
      at = next;
    }
    return at;
  }
}

function merge(statements: readonly Statement[]): string {
  let before = 0;
  const texts = statements.map(({ text, values }) => {
    const offset = before;
    before += values.length;
    return text.replaceAll(/\$(\d+)/g, (_, number: string) => `$${Number(number) + offset}`);
  });
  const parts = texts.slice(0, -1).map((text, index) => `${statements[index]?.name ?? `part${index}`} AS (${text})`);
  return `WITH ${parts.join(", ")} ${texts.at(-1)}`;
}

const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,47}$/;

/** Schema names stand in the text of statements, so they are plain. */
export function checkSchemaName(name: string): string {
  if (SCHEMA_NAME.test(name)) return name;
  throw new AwakenError("storage_validation", `schema name ${JSON.stringify(name)} must match ${SCHEMA_NAME.source}`);
}

function checkText(value: unknown): void {
  if (typeof value === "string" ? !value.isWellFormed() : Array.isArray(value) && value.forEach(checkText)) {
    throw new AwakenError("storage_validation", "a key or text holds half a surrogate pair");
  }
}

/** Connections may be shared with other stores, so the name says what the text is. */
const nameOf = (text: string): string => `awaken_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;

interface Known {
  readonly name?: string;
  readonly text: string;
}

/**
 * Turns statements into queries, which a connection prepares once. Where each transaction may find another connection, nothing
 * is prepared, and what else would be set for a connection is set for each transaction.
 */
export class Statements {
  readonly #schema: string;
  readonly #hasSessions: boolean;
  readonly #known = new Map<string, Known>();

  constructor(schema: string, hasSessions: boolean) {
    this.#schema = schema;
    this.#hasSessions = hasSessions;
  }

  /** The first one is the statement; a transaction that begins may need another one. */
  toQueries({ text, values }: Statement): readonly PgQuery[] {
    for (const value of values) checkText(value);
    const query = { ...(this.#known.get(text) ?? this.#prepare(text)), values: [...values] };
    return !this.#hasSessions && text.startsWith("BEGIN") ? [query, LIMIT_TRANSACTION] : [query];
  }

  #prepare(text: string): Known {
    const full = text.replaceAll("~", `${this.#schema}.`);
    const prepared = this.#hasSessions ? { name: nameOf(full), text: full } : { text: full };
    this.#known.set(text, prepared);
    return prepared;
  }
}

/**
 * Not where `pg` speaks no protocol itself; and a pool that is handed in may be made with `pipeline: true`: then `pg` takes no queries but its
 * own, and sends them together by itself.
 */
export const canExchange = (client: PgClient): client is ExchangingClient =>
  client.pipeline !== true && client.getTypeParser !== undefined && client.connection?.parsedStatements !== undefined;

/**
 * Sends queries together if the connection can do that; the first error counts, and every query has its answer when this returns. `leave` is
 * called unless the last one certainly stays here.
 */
export async function sendAll(client: PgClient, queries: readonly PgQuery[], leave: () => void): Promise<readonly PgResult[]> {
  if (client.pipeline === true) return sendPiped(client, queries, leave);
  if (!canExchange(client)) return sendEach(client, queries, leave);
  const exchange = new Exchange(queries, client, leave);
  // Where `pg` takes it as it is, it gives it back.
  Promise.resolve(client.query(exchange)).catch((error: Error) => exchange.handleError(error));
  return exchange.answer;
}

/** What has no parameters is as quick without being prepared, and takes one message instead of four. */
const sendOne = (client: PgClient, query: PgQuery): Promise<PgResult> => client.query(query.values.length === 0 ? query.text : query);

async function sendEach(client: PgClient, queries: readonly PgQuery[], leave: () => void): Promise<readonly PgResult[]> {
  const results: PgResult[] = [];
  for (const [index, query] of queries.entries()) {
    if (index === queries.length - 1 && client.connection?.stream?.writable !== false) leave();
    results.push(await sendOne(client, query));
  }
  return results;
}

async function sendPiped(client: PgClient, queries: readonly PgQuery[], leave: () => void): Promise<readonly PgResult[]> {
  const { stream } = client.connection ?? {};
  if (stream?.cork === undefined) leave();
  stream?.cork?.();
  const sent = queries.map((query) => sendOne(client, query));
  // Until now nothing has left.
  if (stream?.writable !== false) leave();
  stream?.uncork?.();
  return (await Promise.allSettled(sent)).map((outcome) => {
    if (outcome.status === "fulfilled") return outcome.value;
    throw outcome.reason;
  });
}
