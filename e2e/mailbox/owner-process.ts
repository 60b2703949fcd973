import { createRuntime, thisNode } from "awaken";
import { scripted, text, toolCall } from "awaken/testing";
import { openStore, type Place } from "../durability/support/place.ts";
import { lasting } from "./support/lasting.ts";
import { pay } from "./support/open.ts";

// Another process: it begins a run whose tool lasts, says so, and lives until it is killed or the run is over.

interface Order {
  readonly place: Place;
  readonly leaseMs: number;
  readonly what: "lasts" | "parks";
  /** How far the clock of its machine is ahead. */
  readonly aheadMs?: number;
}

const { place, leaseMs, what, aheadMs = 0 }: Order = JSON.parse(process.argv[2] ?? "{}");
const now = Date.now;
Date.now = () => now() + aheadMs;
const store = await openStore(place);
const runtime = createRuntime({
  providers: { scripted: scripted([toolCall(what === "parks" ? "pay" : "slow", {}), text("ended by its owner")]) },
  models: { fast: { provider: "scripted", model: "m" } },
  agents: { default: { model: "fast" } },
  tools: [lasting(() => process.send?.({ type: "began" })), pay],
  store,
  node: thisNode(),
  workers: false,
  leaseMs,
});
const result = await runtime.run({ thread: "t", runId: "r", input: "go" });
process.send?.({ type: "ended", status: result.status });
if (result.status === "waiting") {
  process.send?.({ type: "began" });
  // It stays until it is killed.
  await new Promise(() => setInterval(() => {}, 1_000));
}
await runtime.close();
await store.close();
process.disconnect?.();
