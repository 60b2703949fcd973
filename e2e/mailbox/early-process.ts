import { createRuntime, defineTool, thisNode, type Verdict } from "awaken";
import { scripted, toolCalls } from "awaken/testing";
import * as z from "zod";
import { openStore, type Place } from "../durability/support/place.ts";

// Another process: its run is decided before its calls wait, which they never do here. It says so, and lives until it is killed.

const { place }: { readonly place: Place } = JSON.parse(process.argv[2] ?? "{}");
const never = new Promise<Verdict>(() => setInterval(() => {}, 1_000));
const pay = defineTool({ id: "pay", description: "Pays", input: z.object({}), approve: () => never, execute: () => "paid" });
const calls = toolCalls([
  { name: "pay", input: {}, id: "c1" },
  { name: "pay", input: {}, id: "c2" },
]);
const runtime = createRuntime({
  providers: { scripted: scripted([calls]) },
  models: { fast: { provider: "scripted", model: "m" } },
  agents: { default: { model: "fast" } },
  tools: [pay],
  store: await openStore(place),
  node: thisNode(),
  workers: false,
});
const run = runtime.stream({ thread: "t", runId: "r", input: "go" });
for await (const event of run) {
  if (event.type !== "tool-call-ready" || event.toolCallId !== "c2") continue;
  await runtime.decideAll([
    { ticket: "c1", decision: { action: "approve", id: "d1", run: "r" } },
    { ticket: "c2", decision: { action: "deny", id: "d2", run: "r" } },
  ]);
  process.send?.({ type: "began" });
}
