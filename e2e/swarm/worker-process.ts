import { createRuntime, thisNode } from "awaken";
import { openStore, type Place } from "../durability/support/place.ts";
import { fileEffects, swarmInit } from "./support/agents.ts";

// A node that takes up what it finds until it is killed.

const { place, effects }: { readonly place: Place; readonly effects: string } = JSON.parse(process.argv[2] ?? "{}");
const pause = () => new Promise<void>((resolve) => setTimeout(resolve, Math.random() * 20));
const runtime = createRuntime({
  ...swarmInit(fileEffects(effects), pause),
  store: await openStore(place),
  node: thisNode(),
  workers: true,
  concurrency: 4,
});
await runtime.recover();
process.send?.({ type: "ready" });
