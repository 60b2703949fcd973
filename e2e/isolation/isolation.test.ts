import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { postgresStore } from "@awaken/stores/postgres";
import { sqliteStore } from "@awaken/stores/sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshSchema, type Server, startServer } from "../durability/support/databases.ts";
import { KINDS, type Told, tell } from "./story.ts";

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

type WithStore = <T>(work: (store: QueueStore | undefined) => Promise<T>) => Promise<T>;

const ENGINES: Readonly<Record<string, WithStore>> = {
  "no store": (work) => work(undefined),
  memory: async (work) => {
    await using store = memoryStore();
    return await work(store);
  },
  SQLite: async (work) => {
    await using store = sqliteStore(":memory:");
    return await work(store);
  },
  PostgreSQL: async (work) => {
    await using schema = freshSchema(server.url);
    await using store = postgresStore(server.url, { schema: schema.name, connections: 2 });
    return await work(store);
  },
};

// What a caller, a tool or a model handed in, or was given, is theirs: what they do to it later reaches nobody.
describe.each(Object.entries(ENGINES))("with %s", (_, withStore) => {
  let untold: Promise<Told> | undefined;
  const quietly = (): Promise<Told> => {
    untold ??= withStore((store) => tell(undefined, store));
    return untold;
  };

  it("what was handed in is not frozen", async () => {
    expect((await quietly()).frozen).toEqual([]);
  });

  it.each(KINDS)("edits of %s reach neither the records nor the model", async (kind) => {
    const quiet = await quietly();
    const edited = await withStore((store) => tell(kind, store));
    expect(quiet.requests).toHaveLength(3);
    expect(quiet.requests.join()).not.toContain("vandalised");
    expect(edited.requests.map((request) => JSON.parse(request))).toEqual(quiet.requests.map((request) => JSON.parse(request)));
    expect(edited.records.map((record) => JSON.parse(record))).toEqual(quiet.records.map((record) => JSON.parse(record)));
  });
});
