import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../durability/support/databases.ts";
import { type ChaosInit, playChaos } from "./support/play.ts";
import { startRestartable } from "./support/server.ts";

// The same as `npm run chaos`, for a while. What is judged does not depend on how fast the machine is.

/** What follows when all is over has its own limits; this one ends what hangs. */
const LIMIT_MS = 600_000;

async function play(init: Omit<ChaosInit, "folder" | "leaseMs">): Promise<void> {
  using folder = tempFolder();
  console.log(`chaos on ${init.place.type}, seed ${init.seed}`);
  const { faults, kills, runs } = await playChaos({ ...init, folder: folder.path, leaseMs: 1_000 });
  expect(faults).toEqual([]);
  expect(kills).toBeGreaterThan(0);
  expect(runs).toBeGreaterThan(0);
}

test(
  "chaos: processes are killed and stopped, the database is restarted, and nothing is lost or done twice, on postgres",
  async () => {
    await using server = await startRestartable();
    await play({ place: { type: "postgres", url: server.url, schema: "chaos" }, seed: 14, lengthMs: 45_000, workers: 3, server });
  },
  LIMIT_MS,
);

test(
  "chaos: processes are killed and stopped, and nothing is lost or done twice, on sqlite",
  async () => {
    using folder = tempFolder();
    await play({ place: { type: "sqlite", file: join(folder.path, "chaos.db") }, seed: 14, lengthMs: 20_000, workers: 2 });
  },
  LIMIT_MS,
);
