import { createClient } from "@awaken/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freshSchema, type Server, startServer, tempFolder } from "../durability/support/databases.ts";
import { startServe, writeProject } from "./support/serve-command.ts";

// Several processes of the command itself, on one database.

/** Whoever says the first half stays at it; whoever comes after says all of it. */
const configOf = (url: string, schema: string): string => `
import { postgresStore } from "awaken/postgres";
import { parts, scripted } from "awaken/testing";
import { existsSync, writeFileSync } from "node:fs";

const words = () => {
  const isFirst = !existsSync("begun");
  writeFileSync("begun", "");
  const wait = isFirst ? [{ type: "wait", ms: 600_000 }] : [];
  return parts({ type: "text-delta", delta: "one two, " }, ...wait, { type: "text-delta", delta: "three äöü 😀." }, { type: "stop", reason: "end-turn" });
};

export default {
  store: postgresStore(${JSON.stringify(url)}, { schema: ${JSON.stringify(schema)} }),
  providers: { house: { name: "house", stream: (request, options) => scripted([words]).stream(request, options) } },
  models: { fast: { provider: "house", model: "fast-1" } },
  agents: { assistant: { model: "fast" } },
  leaseMs: 1000,
};
`;
const WORDS = "one two, three äöü 😀.";

let database: Server;
beforeAll(async () => {
  database = await startServer();
});
afterAll(() => database[Symbol.asyncDispose]());

test("awaken serve, several processes on PostgreSQL: what one executes is streamed from another, which ends it when the first is killed; one port serves both", async () => {
  using folder = tempFolder();
  await using schema = freshSchema(database.url);
  writeProject(folder.path, configOf(database.url, schema.name));
  await using first = await startServe(folder.path, "--port", "0");
  await using second = await startServe(folder.path, "--port", "0", "--share-port");
  const here = createClient({ url: first.url });
  const there = createClient({ url: second.url });
  // The process that is asked for the stream of a submit executes it.
  const submitted = here.stream({ agent: "assistant", thread: "t", input: "say" });
  const runId = await submitted.id;
  let [shown, isKilled] = ["", false];
  for await (const event of there.attach(runId)) {
    if (event.type === "stream-reset") shown = "";
    if (event.type === "text-delta") shown += event.delta;
    if (isKilled || shown !== "one two, ") continue;
    isKilled = true;
    await first.kill();
  }
  expect(isKilled).toBe(true);
  expect(shown).toBe(WORDS);
  expect(await there.wait(runId)).toMatchObject({ status: "done", text: WORDS });
  expect((await there.threads.messages("t")).items).toMatchObject([{ message: { role: "user" } }, { message: { role: "assistant" } }]);
  // The port is dealt out: when one leaves, who is left answers on it.
  await using third = await startServe(folder.path, "--port", String(second.port), "--share-port");
  expect(third.port).toBe(second.port);
  expect(await second.terminate()).toBe(0);
  expect(await there.wait(runId)).toMatchObject({ status: "done", text: WORDS });
});
