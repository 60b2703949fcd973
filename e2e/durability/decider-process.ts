import { setTimeout } from "node:timers/promises";
import { runId, type TicketId } from "@awaken/contract";
import { createRuntime } from "@awaken/runtime";
import { runOf, runtimeInit } from "./support/agent.ts";
import { Outside } from "./support/outside.ts";
import { openStore, type Place } from "./support/place.ts";

// Approves what the runs of some threads wait for, and stays until they are done.

export interface DeciderOrder {
  readonly place: Place;
  readonly threads: readonly string[];
  readonly outside: string;
  /** Each ticket is decided by all processes, or by one of them: every second one, from this. */
  readonly tickets: "all" | 0 | 1;
}

const argument = process.argv[2];
if (argument === undefined) throw new Error("what to do is missing");
const { place, threads, outside, tickets }: DeciderOrder = JSON.parse(argument);

const store = await openStore(place);
const nothing = () => {};
const init = runtimeInit(new Outside(outside), { before: nothing, after: nothing });
// Where a run comes to wait while the other process decides, a worker goes on with it.
const runtime = createRuntime({ ...init, store, workers: tickets !== "all" });

async function decide(thread: string): Promise<void> {
  const run = await store.runs.load(runId(runOf(thread)));
  if (run?.status !== "waiting") return;
  const decisions = run.waiting.tickets.map(({ id }) => ({ ticket: id, decision: { action: "approve", id: `decision-${id}` } as const }));
  await runtime.decideAll(decisions);
  await runtime.wait(run.runId);
}

/** Known before anybody decides. */
async function ownTickets(thread: string): Promise<readonly TicketId[]> {
  const run = await store.runs.load(runId(runOf(thread)));
  return run?.status === "waiting" ? run.waiting.tickets.filter((_, index) => index % 2 === tickets).map(({ id }) => id) : [];
}

/** Stays until the run is over, whichever process goes on with it. */
async function decideOwn(thread: string, own: readonly TicketId[]): Promise<void> {
  for (const ticket of own) await runtime.decide(ticket, { action: "approve" });
  while ((await store.runs.load(runId(runOf(thread))))?.status !== "done") await setTimeout(20);
}

process.on("disconnect", () => process.exit(1));
const begun = new Promise((resolve) => process.once("message", resolve));
const own = await Promise.all(threads.map(ownTickets));
process.send?.({});
await begun;
await Promise.all(threads.map((thread, index) => (tickets === "all" ? decide(thread) : decideOwn(thread, own[index] ?? []))));
await store.close();
process.exit(0);
