import { join } from "node:path";
import { type AttachedEvent, createClient } from "@awaken/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshSchema, type Server, startServer, tempFolder } from "../durability/support/databases.ts";
import type { Place } from "../durability/support/place.ts";
import { factsOf } from "../relay/support/reader.ts";
import { startProcess } from "../server/support/process.ts";

const WORDS = "one two three äöü 😀 five.";

describe("a client whose server is restarted", { timeout: 120_000 }, () => {
  let database: Server;
  beforeAll(async () => {
    database = await startServer();
  });
  afterAll(() => database[Symbol.asyncDispose]());

  for (const engine of ["sqlite", "postgres"] as const) {
    test(`server-and-durability 82: attach survives it, and each committed event comes once, on ${engine}`, async () => {
      using folder = tempFolder();
      await using schema = freshSchema(database.url);
      const place: Place =
        engine === "sqlite"
          ? { type: "sqlite", file: join(folder.path, "awaken.db") }
          : { type: "postgres", url: database.url, schema: schema.name };
      const first = await startProcess({ place, port: 0 });
      const client = createClient({ url: first.url });
      const { runId } = await client.start({ agent: "assistant", thread: "t", input: "effect slow" });
      const seen: AttachedEvent[] = [];
      let second: ReturnType<typeof startProcess> | undefined;
      let shown = "";
      for await (const event of client.attach("t")) {
        seen.push(event);
        if (event.type === "text-delta") shown += event.delta;
        if (event.type === "stream-reset") shown = "";
        if (second === undefined && shown.startsWith("one two")) {
          await first.kill();
          second = startProcess({ place, port: first.port });
        }
        if (event.type === "run-end") break;
      }
      await using server = await second;
      expect(server?.port).toBe(first.port);
      expect(shown).toBe(WORDS);
      const whole: AttachedEvent[] = [];
      for await (const event of client.attach(runId)) whole.push(event);
      // What the client says itself of the connection is on no record.
      const facts = (events: readonly AttachedEvent[]) =>
        factsOf(events.map(({ cursor: _, ...event }) => event)).filter(({ type }) => type !== "stream-reset");
      expect(facts(seen)).toEqual(facts(whole));
      expect(seen.filter(({ type }) => type === "tool-call-end")).toHaveLength(1);
      expect(await client.wait(runId)).toMatchObject({ status: "done", text: WORDS });
    });
  }
});
