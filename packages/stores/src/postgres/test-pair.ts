import { randomUUID } from "node:crypto";
import { AwakenError, scopeId } from "@awaken/contract";
import type { QueueStore, ScopedQueueStore } from "@awaken/contract/store";
import pg from "pg";
import { afterAll, beforeAll } from "vitest";
import type { PgClient } from "./driver.ts";
import { type PostgresStoreOptions, postgresStore } from "./store.ts";
import { serverUrl } from "./test-server.ts";
import { openTestStore, schemaOf } from "./test-store.ts";

/** A store that remembers, or does not, beside another one of the same schema, which stands for another process; in a tenant of its own. */
export interface Pair {
  readonly store: ScopedQueueStore;
  readonly peer: ScopedQueueStore;
}

type Hook = (text: string, client: pg.PoolClient) => string | undefined;

/** What the stores of this file send, and what is sent instead. */
export class Line {
  readonly sent: string[] = [];
  hook: Hook | undefined;

  /** Whether a commit was tried that was planned from memory. */
  get hasGuess(): boolean {
    return this.sent.some((text) => text.includes("pg_try_advisory"));
  }

  get verbs(): readonly (string | undefined)[] {
    return this.sent.map((text) => text.split(" ")[0]);
  }

  async connect(pool: pg.Pool): Promise<PgClient> {
    const client = await pool.connect();
    const query: PgClient["query"] = (asked) => {
      const text = typeof asked === "string" ? asked : asked.text;
      if (!text.includes("pg_notify")) this.sent.push(text);
      return client.query(this.hook?.(text, client) ?? asked);
    };
    return new Proxy<PgClient>(client, {
      get(_, key) {
        if (key === "query") return query;
        const value: unknown = Reflect.get(client, key);
        return typeof value === "function" ? value.bind(client) : value;
      },
    });
  }
}

/** One schema and few connections for all tests of a file. */
export function usePairs() {
  const line = new Line();
  const opened: (() => Promise<unknown>)[] = [];
  let stores: { readonly peer: QueueStore; readonly memory: QueueStore; readonly control: QueueStore } | undefined;
  const found = () => {
    if (stores === undefined) throw new Error("before the tests");
    return stores;
  };

  /** Another store of the schema, on connections of its own. */
  async function open({ connections = 3, ...options }: PostgresStoreOptions = {}) {
    const pool = new pg.Pool({ connectionString: await serverUrl(), max: connections, pipeline: true });
    pool.on("error", () => {});
    const schema = options.schema ?? schemaOf(found().peer);
    const store = postgresStore({ connect: () => line.connect(pool), end: () => pool.end() }, { ...options, schema });
    opened.push(async () => {
      await store.close();
      await pool.end();
    });
    return { store, pool };
  }

  beforeAll(async () => {
    const peer = await openTestStore();
    const schema = schemaOf(peer);
    opened.push(() => peer.close());
    stores = { peer, memory: (await open({ schema })).store, control: (await open({ schema, cacheBytes: 0 })).store };
  });
  afterAll(async () => {
    for (const close of opened.splice(0).reverse()) await close();
  });

  return {
    line,
    open,
    stores: found,
    /** A new tenant. `asks`: without memory. */
    pair(way: "remembers" | "asks" = "remembers"): Pair {
      const { peer, memory, control } = found();
      const id = scopeId(randomUUID());
      return { store: (way === "asks" ? control : memory).scoped(id), peer: peer.scoped(id) };
    },
  };
}

/** The code of what was thrown, or what came. */
export const codeOf = <T>(asked: Promise<T>): Promise<unknown> =>
  asked.catch((thrown: unknown) => {
    if (AwakenError.is(thrown)) return thrown.code;
    throw thrown;
  });
