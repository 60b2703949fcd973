import { runId } from "@awaken/contract";
import { createRuntime } from "@awaken/runtime";
import { runOf, runtimeInit } from "./support/agent.ts";
import { Outside } from "./support/outside.ts";
import { openStore, type Place } from "./support/place.ts";

// Approves what the runs of some threads wait for, and stays until they are done.

export interface DeciderOrder {
  readonly place: Place;
  readonly threads: readonly string[];
  readonly outside: string;
}

const argument = process.argv[2];
if (argument === undefined) throw new Error("what to do is missing");
const { place, threads, outside }: DeciderOrder = JSON.parse(argument);

const store = await openStore(place);
const nothing = () => {};
const runtime = createRuntime({ ...runtimeInit(new Outside(outside), { before: nothing, after: nothing }), store });

async function decide(thread: string): Promise<void> {
  const run = await store.runs.load(runId(runOf(thread)));
  if (run?.status !== "waiting") return;
  const decisions = run.waiting.tickets.map(({ id }) => ({ ticket: id, decision: { action: "approve", id: `decision-${id}` } as const }));
  await runtime.decideAll(decisions);
  await runtime.wait(run.runId);
}

process.on("disconnect", () => process.exit(1));
const begun = new Promise((resolve) => process.once("message", resolve));
process.send?.({});
await begun;
await Promise.all(threads.map(decide));
await store.close();
process.exit(0);
