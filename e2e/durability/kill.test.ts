import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshSchema, type Server, startServer, tempFolder } from "./support/databases.ts";
import { type KillRounds, playKillRounds } from "./support/kill-rounds.ts";
import { KILL_KINDS } from "./support/kill-switch.ts";
import { openStore, type Place } from "./support/place.ts";
import { expectWhole } from "./support/whole-run.ts";

// A round is one thread with six steps of tools whose process was killed at least once on the way. A third of them go on with new
// messages where the others are resumed and decided.

const ROUNDS = Number(process.env["AWAKEN_KILL_ROUNDS"] ?? 200);
const SEED = Number(process.env["AWAKEN_KILL_SEED"] ?? 1);
const TIMEOUT_MS = 60_000 + ROUNDS * 2_000;

async function expectAllWhole(place: Place, { threads, cut, kills, questions }: KillRounds): Promise<void> {
  expect(cut.size).toBeGreaterThanOrEqual(ROUNDS);
  for (const kind of KILL_KINDS)
    expect(
      kills.some((kill) => kill.kind === kind),
      kind,
    ).toBe(true);
  const lost = questions.filter(({ action }) => action === "unknown-outcome");
  expect(new Set(lost.map(({ toolName }) => toolName))).toEqual(new Set(["ask-somebody"]));
  expect(new Set(lost.map(({ hasHappened }) => hasHappened))).toEqual(new Set([true, false]));
  const consents = questions.filter(({ action }) => action === "approve");
  expect(consents.filter(({ hasHappened }) => hasHappened)).toEqual([]);
  expect(consents.length + lost.length).toBe(questions.length);
  await using store = await openStore(place);
  let [further, closed, found] = [0, 0, 0];
  for (const [thread, { outside, isTalkative }] of threads) {
    const whole = await expectWhole(store, outside, thread, isTalkative);
    [further, closed, found] = [further + whole.further, closed + whole.closed, found + whole.found];
  }
  // Messages came instead of a resume and instead of an answer, and people said later what they knew.
  expect(further).toBeGreaterThan(ROUNDS / 10);
  expect(closed).toBeGreaterThan(0);
  expect(found).toBeGreaterThan(0);
}

describe("processes that are killed at any moment lose no message and repeat no effect", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test(`on SQLite, in ${ROUNDS} rounds`, { timeout: TIMEOUT_MS }, async () => {
    using folder = tempFolder();
    const place: Place = { type: "sqlite", file: join(folder.path, "kill.db") };
    await expectAllWhole(place, await playKillRounds({ place, folder: folder.path, rounds: ROUNDS, seed: SEED }));
  });

  test(`on PostgreSQL, in ${ROUNDS} rounds`, { timeout: TIMEOUT_MS }, async () => {
    using folder = tempFolder();
    await using schema = freshSchema(server.url);
    const place: Place = { type: "postgres", url: server.url, schema: schema.name };
    await expectAllWhole(place, await playKillRounds({ place, folder: folder.path, rounds: ROUNDS, seed: SEED + 1 }));
  });
});
