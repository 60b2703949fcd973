import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { tempFolder } from "../durability/support/databases.ts";
import { type PlayInit, play } from "./support/play.ts";

// npm run verbs -- --seed 7 --count 100 --deeds 120 --store sqlite --log steps.txt

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "memory" },
    seed: { type: "string", default: "1" },
    /** How many seeds, from that one on. */
    count: { type: "string", default: "1" },
    deeds: { type: "string", default: "120" },
    /** Where each step is written, of the last seed with a fault. */
    log: { type: "string" },
  },
});

const inMemory: PlayInit["open"] = (clock, ids) => {
  const store = memoryStore({ clock, ids });
  return [store, store, store];
};

// Parts of the program that are loaded on the way take a time that nobody decides: they are loaded before.
await play({ seed: 1, deeds: 150, open: inMemory });

let bad = 0;
let isPlayed = false;
// A play that nobody goes on with lets the process end, and what hears of that ends it with 0.
process.on("exit", () => {
  if (isPlayed) return;
  console.log("  FAULT the play stands still: something waits outside of it");
  process.exitCode = 1;
});
for (let seed = Number(values.seed); seed < Number(values.seed) + Number(values.count); seed++) {
  using folder = tempFolder();
  const open: PlayInit["open"] = (clock, ids) => {
    if (values.store !== "sqlite") return inMemory(clock, ids);
    const one = () => sqliteStore(join(folder.path, "verbs.db"), { clock, ids });
    return [one(), one(), one()];
  };
  const lines: string[] = [];
  const keep = values.log === undefined ? {} : { say: (line: string) => void lines.push(line) };
  const { faults, deeds, ...figures } = await play({ seed, deeds: Number(values.deeds), open, ...keep });
  console.log(`seed ${seed}: ${faults.length} faults, ${JSON.stringify(figures)}`);
  if (Number(values.count) === 1) console.log(deeds);
  for (const fault of faults.slice(0, 12)) console.log(`  FAULT ${fault.slice(0, 1_500)}`);
  if (values.log !== undefined && (faults.length > 0 || Number(values.count) === 1)) writeFileSync(values.log, lines.join("\n"));
  if (faults.length > 0) bad += 1;
}
isPlayed = true;
console.log(`${bad} seeds with faults`);
process.exit(bad === 0 ? 0 : 1);
