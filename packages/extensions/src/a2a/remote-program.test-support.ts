// A program that asks an A2A agent and is killed while it waits. Run with Node, never imported.
import { createRuntime } from "@awaken/runtime";
import { sqliteStore } from "@awaken/stores/sqlite";
import { a2a } from "./a2a.ts";

const [, , file = "", url = ""] = process.argv;
const runtime = createRuntime({
  agents: { far: { remote: { a2a: url } } },
  backends: [a2a({ allow: ["loopback"] })],
  store: sqliteStore(file),
  leaseMs: 200,
});
const run = runtime.stream({ agent: "far", thread: "t", input: "may I?" });
console.log(run.id);
await run.result;
