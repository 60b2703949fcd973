import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempFolder } from "../durability/support/databases.ts";
import type { Place } from "../durability/support/place.ts";
import { type Chaos, playChaos } from "./support/play.ts";
import { startRestartable } from "./support/server.ts";

// Short; `npm run chaos -- --store sqlite --seconds 600 --workers 4 --seed 7` plays as long as you like.

const SEED = Number(process.env["AWAKEN_CHAOS_SEED"] ?? Date.now() % 1_000_000);
const LEASE_MS = 1_000;
/** The end of it comes when nothing is left to do, however slow the machine is. */
const TIMEOUT_MS = 600_000;

/** Nothing is wrong, and it was a storm. */
function expectWhole({ faults, kills, stops, runs, executions, deeds }: Chaos): void {
  expect(faults, `seed ${SEED}`).toEqual([]);
  expect(kills + stops).toBeGreaterThan(0);
  expect(runs).toBeGreaterThan(0);
  expect(executions).toBeGreaterThan(0);
  expect(deeds).toMatchObject({ "start accepted": expect.any(Number) });
}

describe(`workers that are killed and stopped all the time, seed ${SEED}`, { timeout: TIMEOUT_MS }, () => {
  test("on PostgreSQL, which is restarted: every run ends, in order, each finished call once, and nothing accepted is lost", async () => {
    using folder = tempFolder();
    await using server = await startRestartable();
    const place: Place = { type: "postgres", url: server.url, schema: "chaos" };
    const settings = { seed: SEED, lengthMs: 45_000, workers: 3, leaseMs: LEASE_MS };
    expectWhole(await playChaos({ ...settings, place, folder: folder.path, server }));
  });

  test("on SQLite: the same", async () => {
    using folder = tempFolder();
    const place: Place = { type: "sqlite", file: join(folder.path, "chaos.db") };
    expectWhole(await playChaos({ seed: SEED, lengthMs: 20_000, workers: 2, leaseMs: LEASE_MS, place, folder: folder.path }));
  });
});
