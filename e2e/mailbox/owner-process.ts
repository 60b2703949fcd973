import { createRuntime, thisNode } from "awaken";
import { scripted, text, toolCall } from "awaken/testing";
import { openStore, type Place } from "../durability/support/place.ts";
import { lasting } from "./support/lasting.ts";

// Another process: it begins a run whose tool lasts, says so, and lives until it is killed or the run is over.

const { place, leaseMs }: { readonly place: Place; readonly leaseMs: number } = JSON.parse(process.argv[2] ?? "{}");
const store = await openStore(place);
const runtime = createRuntime({
  providers: { scripted: scripted([toolCall("slow", {}), text("ended by its owner")]) },
  models: { fast: { provider: "scripted", model: "m" } },
  agents: { default: { model: "fast" } },
  tools: [lasting(() => process.send?.({ type: "began" }))],
  store,
  node: thisNode(),
  workers: false,
  leaseMs,
});
const result = await runtime.run({ thread: "t", runId: "r", input: "go" });
process.send?.({ type: "ended", status: result.status });
await runtime.close();
await store.close();
process.disconnect?.();
