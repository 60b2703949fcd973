import net from "node:net";
import { join } from "node:path";
import { importFromPeer } from "./peer-imports.ts";
import { VARIANTS } from "./plan.ts";
import type { Adapter } from "./scenario.ts";
import { FULL, measure, QUICK } from "./workloads.ts";

// One variant, one workload, one process: prints one JSON line. node worker.ts <variant> <workload> [quick]

const [name = "awaken", workload = "W1", speed] = process.argv.slice(2);
const variant = VARIANTS.find((candidate) => candidate.name === name);
if (variant?.workloads.includes(workload) !== true) throw new Error(`no variant ${name} that plays ${workload}`);

process.env["NODE_ENV"] = "production";
const print = console.log;
// Some peers write a line per call.
for (const level of ["log", "info", "warn", "debug", "error"] as const) console[level] = () => {};
net.Socket.prototype.connect = () => {
  throw new Error("the bench has no network");
};

const isOurs = variant.adapter === "awaken" || variant.adapter === "bare";
if (!isOurs) importFromPeer(variant.adapter, join(import.meta.dirname, "peers"));
const adapter: Adapter = await import(`./peers/${variant.adapter}.${isOurs ? "ts" : "mjs"}`);
const subject = await adapter.open(name);
print(JSON.stringify(await measure(workload, subject, speed === "quick" ? QUICK : FULL)));
process.exit(0);
