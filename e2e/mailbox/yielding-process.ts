import { createRuntime, defineTool, thisNode } from "awaken";
import { scripted, text, toolCall } from "awaken/testing";
import * as z from "zod";
import { openStore, type Place } from "../durability/support/place.ts";

// A process whose time is over while its tool runs: the run goes on elsewhere, and its result comes back here.

const { place }: { readonly place: Place } = JSON.parse(process.argv[2] ?? "{}");
const store = await openStore(place);
const told = new Promise((resolve) => process.once("message", resolve));
let deadline: number | undefined;
const slow = defineTool({
  id: "slow",
  description: "Lasts",
  input: z.object({}),
  execute: async () => {
    deadline = Date.now();
    process.send?.({ type: "began" });
    await told;
    return "ran once";
  },
});
const runtime = createRuntime({
  providers: { scripted: scripted([toolCall("slow", {}), text("never said here")]) },
  models: { fast: { provider: "scripted", model: "m" } },
  agents: { default: { model: "fast" } },
  tools: [slow],
  store,
  node: thisNode(),
  workers: false,
  yieldBefore: () => deadline ?? Date.now() + 200,
});
const { status, text: said, steps } = await runtime.run({ thread: "t", runId: "r", input: "go" });
process.send?.({ type: "ended", status, text: said, steps });
await runtime.close();
await store.close();
process.disconnect?.();
