import { join } from "node:path";
import { parseArgs } from "node:util";
import { tempFolder } from "../durability/support/databases.ts";
import type { Place } from "../durability/support/place.ts";
import { type Chaos, playChaos } from "./support/play.ts";
import { startRestartable } from "./support/server.ts";

// npm run chaos -- --store postgres --seconds 600 --workers 3 --seed 7

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "postgres" },
    seconds: { type: "string", default: "60" },
    workers: { type: "string", default: "3" },
    "lease-ms": { type: "string", default: "1000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    /** Keeps what the processes left behind. */
    keep: { type: "boolean", default: false },
  },
});

const say = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);
const seed = Number(values.seed);
const settings = {
  seed,
  lengthMs: Number(values.seconds) * 1_000,
  workers: Number(values.workers),
  leaseMs: Number(values["lease-ms"]),
  say,
};

async function play(folder: string): Promise<Chaos> {
  if (values.store === "sqlite") {
    const place: Place = { type: "sqlite", file: join(folder, "chaos.db") };
    return playChaos({ ...settings, place, folder });
  }
  await using server = await startRestartable();
  const place: Place = { type: "postgres", url: server.url, schema: "chaos" };
  return await playChaos({ ...settings, place, folder, server });
}

say(`seed ${seed}, ${values.seconds} s on ${values.store} with ${values.workers} workers, leases of ${values["lease-ms"]} ms`);
const folder = tempFolder();
if (values.keep) say(`files in ${folder.path}`);
const { faults, deeds, ...figures } = await play(folder.path);
if (!values.keep) folder[Symbol.dispose]();
console.log(figures, deeds);
for (const fault of faults) console.log(`FAULT ${fault}`);
say(faults.length === 0 ? `no fault, seed ${seed}` : `${faults.length} faults, seed ${seed}`);
process.exit(faults.length === 0 ? 0 : 1);
