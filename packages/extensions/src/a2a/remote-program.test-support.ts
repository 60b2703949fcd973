// A program that asks an A2A agent and is killed while it waits. Run with Node, never imported.
import { createRuntime } from "@awaken/runtime";
import { sqliteStore } from "@awaken/stores/sqlite";
import { a2a } from "./a2a.ts";

const [, , file = "", url = ""] = process.argv;
const runtime = createRuntime({
  agents: { far: { remote: { a2a: url } } },
  backends: [a2a({ allow: ["loopback"] })],
  store: sqliteStore(file),
  workers: false,
  // It is waited out when the program is gone; until then it has to outlast whatever else the machine is busy with.
  leaseMs: 3_000,
});
const run = runtime.stream({ agent: "far", thread: "t", input: "may I?" });
console.log(run.id);
await run.result;
