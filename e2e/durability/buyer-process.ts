import { flushCompileCache } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { AwakenError, type JsonObject, runId } from "@awaken/contract";
import { createRuntime, type DecisionInput, type Finding, type RunResult } from "@awaken/runtime";
import { thisNode } from "awaken";
import { BUYER, buyerInit } from "./support/buyer.ts";
import { type KillPlan, KillSwitch } from "./support/kill-switch.ts";
import { Outside } from "./support/outside.ts";
import { openStore, type Place } from "./support/place.ts";

// Does things on a thread, one after the other, tells what came of each, and ends; or dies in a tool.

export type Act =
  | { readonly type: "message"; readonly id: string; readonly runId?: string }
  | { readonly type: "resume"; readonly run: string }
  | { readonly type: "decide"; readonly ticket: string; readonly decision: DecisionInput }
  | { readonly type: "reconcile"; readonly target: string; readonly finding: Finding };

export interface BuyerOrder {
  readonly place: Place;
  /** The file of the outside effects. */
  readonly outside: string;
  readonly thread: string;
  readonly acts: readonly Act[];
  readonly death?: Death;
}

/** At a point of the effects; or in a call that lasts, when all others of its turn are over and on record. */
export type Death =
  | { readonly type: "plan"; readonly plan: KillPlan }
  | { readonly type: "lasting"; readonly order: string; readonly run: string };

export type Told =
  | {
      readonly type: "run";
      readonly result: RunResult /** Orders that tools began with. */;
      readonly begun: readonly string[];
    }
  | { readonly type: "recorded" }
  | { readonly type: "refused"; readonly code: string; readonly details: JsonObject };

const argument = process.argv[2];
if (argument === undefined) throw new Error("what to do is missing");
const { place, outside, thread, acts, death }: BuyerOrder = JSON.parse(argument);
process.on("disconnect", () => process.exit(1));

let begun: string[] = [];
const killSwitch = new KillSwitch(death?.type === "plan" ? death.plan : undefined, () => {});
const store = await openStore(place);

/** Far more than it takes; whoever looks in vain dies too, and the test sees what is not on record. */
const LOOKS = 500;

async function outlast(run: string): Promise<never> {
  for (let look = 0; look < LOOKS; look++) {
    const open = await store.ledger.list(runId(run), { statuses: ["claimed", "suspended"] });
    if (open.length === 1) break;
    await sleep(20);
  }
  process.kill(process.pid, "SIGKILL");
  throw new Error("still alive");
}

const runtime = createRuntime({
  ...buyerInit(new Outside(outside), {
    before(order) {
      begun.push(order);
      if (death?.type === "lasting" && death.order === order) return outlast(death.run);
      return killSwitch.pass("before-effect");
    },
    after: () => killSwitch.pass("after-effect"),
  }),
  store,
  node: thisNode(),
  workers: false,
});

flushCompileCache();

async function perform(act: Act): Promise<Told> {
  begun = [];
  switch (act.type) {
    case "message": {
      const input = [{ role: "user", id: act.id, content: "go on" }] as const;
      const hint = act.runId === undefined ? {} : { runId: act.runId };
      return { type: "run", result: await runtime.run({ agent: BUYER, thread, input, ...hint }), begun };
    }
    case "resume":
      return { type: "run", result: await runtime.resume(act.run), begun };
    case "decide":
      return { type: "run", result: await (await runtime.decide(act.ticket, act.decision)).result, begun };
    case "reconcile":
      await runtime.reconcile(act.target, act.finding);
      return { type: "recorded" };
  }
}

function refused(thrown: unknown): Told {
  if (AwakenError.is(thrown)) return { type: "refused", code: thrown.code, details: { ...thrown.details } };
  throw thrown;
}

const told: Told[] = [];
for (const act of acts) told.push(await perform(act).catch(refused));
await store.close();
process.send?.(told, () => process.exit(0));
