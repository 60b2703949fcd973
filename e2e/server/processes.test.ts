import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshSchema, type Server, startServer, tempFolder } from "../durability/support/databases.ts";
import type { Place } from "../durability/support/place.ts";
import { factsOf } from "../relay/support/reader.ts";
import type { Frame } from "./support/client.ts";
import { Follower, type ServerProcess, startProcess } from "./support/process.ts";

const WORDS = "one two three äöü 😀 five.";
const isEnd = ({ data }: Frame): boolean => data.type === "run-end";

const post = (url: string, path: string, body: object): Promise<Response> =>
  fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });
const start = (url: string, words: string, thread = "t") =>
  post(url, "/v1/runs", { agentId: "assistant", threadId: thread, messages: [{ role: "user", content: words }] });
const read = async (url: string, path: string) => Object(await (await fetch(`${url}${path}`)).json());

/** The server dies in the middle of an answer; somebody else says it. */
async function killInMidAnswer(
  first: ServerProcess,
  next: () => Promise<ServerProcess>,
  end: "kill" | "terminate",
): Promise<ServerProcess> {
  const client = new Follower();
  const response = await start(first.url, "effect slow");
  const run = response.headers.get("x-run-id") ?? expect.fail();
  await client.read(response, (_, { text }) => text.startsWith("one two"));
  expect(client.text).toMatch(/^one two/);
  if (end === "kill") await first.kill();
  else expect(await first.terminate()).toBe(0);
  const second = await next();
  expect(await client.read(await client.again(second.url, run), isEnd)).toBe(true);
  expect(client.text).toBe(WORDS);
  expect(await read(second.url, `/v1/runs/${run}`)).toMatchObject({ status: "done", response: WORDS });
  expect(client.seen.filter(({ data }) => data.type === "tool-call-end")).toHaveLength(1);
  const whole = new Follower();
  await whole.read(await whole.again(second.url, run), isEnd);
  const facts = ({ seen }: Follower) => factsOf(seen.map(({ data }) => data));
  expect(facts(client)).toEqual(facts(whole));
  return second;
}

/** What waits for a person is still there afterwards, and is done once. */
async function killWhileItWaits(first: ServerProcess, next: () => Promise<ServerProcess>): Promise<ServerProcess> {
  const client = new Follower();
  const response = await start(first.url, "approve say", "waits");
  const run = response.headers.get("x-run-id") ?? expect.fail();
  await client.read(response, isEnd);
  await first.kill();
  const second = await next();
  const { status, tickets } = await read(second.url, `/v1/runs/${run}`);
  expect(status).toBe("waiting");
  const decide = () => post(second.url, `/v1/tickets/${tickets[0].id}/decision`, { action: "approve", id: "once" });
  const replies = await Promise.all([decide(), decide()]);
  expect(replies.map((reply) => reply.status)).toEqual([202, 202]);
  await client.read(await client.again(second.url, run), isEnd);
  expect(client.seen.filter(({ data }) => data.type === "tool-call-resumed")).toHaveLength(1);
  expect(client.text).toBe(WORDS);
  return second;
}

describe("server processes that die", { timeout: 120_000 }, () => {
  let database: Server;
  beforeAll(async () => {
    database = await startServer();
  });
  afterAll(() => database[Symbol.asyncDispose]());

  test("kill and reconnect on SQLite: the client ends with exactly the committed text, and an approval that was open runs once", async () => {
    using folder = tempFolder();
    const place: Place = { type: "sqlite", file: join(folder.path, "awaken.db") };
    const journal = join(folder.path, "journal");
    const first = await startProcess({ place, port: 0, journal });
    const again = () => startProcess({ place, port: first.port, journal });
    const second = await killInMidAnswer(first, again, "kill");
    await using _third = await killWhileItWaits(second, again);
    expect(readFileSync(journal, "utf8")).toBe("effect 3\napproved 4\n");
  });

  test("kill and reconnect behind two nodes on PostgreSQL: the other node goes on", async () => {
    await using schema = freshSchema(database.url);
    using folder = tempFolder();
    const place: Place = { type: "postgres", url: database.url, schema: schema.name };
    const journal = join(folder.path, "journal");
    const first = await startProcess({ place, port: 0, journal });
    await using other = await startProcess({ place, port: 0, journal });
    await killInMidAnswer(first, async () => other, "kill");
    const third = await startProcess({ place, port: 0, journal });
    await killWhileItWaits(third, async () => other);
    expect(readFileSync(journal, "utf8")).toBe("effect 3\napproved 4\n");
  });

  test("server-and-durability 47: SIGTERM in mid-answer: the process leaves in peace, and another node ends the run", async () => {
    await using schema = freshSchema(database.url);
    const place: Place = { type: "postgres", url: database.url, schema: schema.name };
    const first = await startProcess({ place, port: 0 });
    await using other = await startProcess({ place, port: 0 });
    await killInMidAnswer(first, async () => other, "terminate");
  });
});
