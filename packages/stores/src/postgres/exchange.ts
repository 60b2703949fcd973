import type { Row } from "../sql/rows.ts";
import type { Parameter, PgClient, PgConnection, PgField, PgQuery, PgResult } from "./driver.ts";

// `pg` ends each query with a Sync of its own and lets the server describe its columns each time. Here several are one query of `pg`, which the
// server reads, does and answers in one go, and columns are described once.

export type ExchangingClient = PgClient & Required<Pick<PgClient, "getTypeParser">>;

/** How rows of a statement are read. */
type Columns = readonly { readonly name: string; readonly parse: (text: string) => unknown }[];

/** Of statements with a name, which a connection keeps: their columns stay the same as long as they are valid. */
const described = new WeakMap<PgConnection, Map<string, Columns>>();

function columnsOf(connection: PgConnection): Map<string, Columns> {
  const known = described.get(connection) ?? new Map<string, Columns>();
  described.set(connection, known);
  return known;
}

const quote = (text: string): string => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;

/** As the server reads it. */
function toText(value: Parameter): string | null {
  if (value === null || typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  return `{${value.map((item) => (item === null ? "NULL" : quote(String(item)))).join(",")}}`;
}

/** A query of `pg` that is many. An error of one is the error of all: what comes behind it is not done. */
export class Exchange implements PgQuery {
  readonly values: Parameter[] = [];
  /** Settled when the server is through with all of them. */
  readonly answer: Promise<readonly PgResult[]>;
  /** `pg` may put another one around it. */
  callback: (error: Error | null, results?: readonly PgResult[]) => void = () => {};
  readonly #queries: readonly PgQuery[];
  readonly #client: ExchangingClient;
  readonly #leave: () => void;
  readonly #results: PgResult[] = [];
  #known: Map<string, Columns> = new Map();
  #columns: Columns | undefined;
  #rows: Row[] = [];

  /** `leave` is called unless it certainly stays here. */
  constructor(queries: readonly PgQuery[], client: ExchangingClient, leave: () => void) {
    this.#queries = queries;
    this.#client = client;
    this.#leave = leave;
    this.answer = new Promise((resolve, reject) => {
      this.callback = (error, results = []) => (error === null ? resolve(results) : reject(error));
    });
  }

  /** Of the one that is answered now: when it is parsed, `pg` notes that its connection has it. */
  get name(): string | undefined {
    return this.#asked?.name;
  }

  get text(): string {
    return this.#asked?.text ?? "";
  }

  get #asked(): PgQuery | undefined {
    return this.#queries[this.#results.length];
  }

  submit(connection: PgConnection): null {
    const { stream } = connection;
    this.#known = columnsOf(connection);
    const parsed = new Set<string>();
    stream?.cork?.();
    try {
      for (const query of this.#queries) this.#send(connection, query, parsed);
      connection.sync?.();
      // Until now nothing has left.
      if (stream?.writable !== false) this.#leave();
    } finally {
      stream?.uncork?.();
    }
    return null;
  }

  #send(connection: PgConnection, { name = "", text, values }: PgQuery, parsed: Set<string>): void {
    if (name === "" || (connection.parsedStatements?.[name] === undefined && !parsed.has(name))) {
      connection.parse?.({ name, text, types: [] }, true);
      parsed.add(name);
    }
    connection.bind?.({ portal: "", statement: name, values: values.map(toText) }, true);
    if (!this.#known.has(name)) connection.describe?.({ type: "P", name: "" }, true);
    connection.execute?.(null, true);
  }

  handleRowDescription({ fields }: { readonly fields: readonly PgField[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: this.#client.getTypeParser(dataTypeID, "text") }));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const columns = this.#columns ?? this.#known.get(this.name ?? "") ?? [];
    const row: Record<string, unknown> = {};
    let index = 0;
    for (const { name, parse } of columns) {
      const text = fields[index++] ?? null;
      row[name] = text === null ? null : parse(text);
    }
    this.#rows.push(row);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    const { name } = this;
    if (name !== undefined && !this.#known.has(name)) this.#known.set(name, this.#columns ?? []);
    this.#results.push({ command: text.split(" ", 1)[0] ?? "", rows: this.#rows });
    this.#rows = [];
    this.#columns = undefined;
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#results);
  }
}
