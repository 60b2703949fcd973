import type { QueueStore } from "@awaken/contract/store";
import { openStore, type Place } from "../../durability/support/place.ts";
import { type Random, random } from "../../inference/support/random.ts";
import { Fleet } from "./fleet.ts";
import { judge, type Verdict } from "./judge.ts";
import type { RestartableServer } from "./server.ts";

export interface ChaosInit {
  readonly place: Place;
  /** For what the processes leave behind. */
  readonly folder: string;
  readonly seed: number;
  readonly lengthMs: number;
  readonly workers: number;
  readonly leaseMs: number;
  /** The one that `place` is on, when it is to be restarted. */
  readonly server?: RestartableServer;
  say?(line: string): void;
}

export interface Figures {
  readonly kills: number;
  readonly stops: number;
  readonly restarts: number;
}

export interface Chaos extends Verdict, Figures {}

/** More than any process can be hit: whatever becomes a dead letter has another cause than chaos. */
const MAX_ATTEMPTS = 10_000;
/** Time between two blows, on average. */
const BLOW_MS = 900;
const RESTART_MS = 12_000;
/** While it drains: nobody waits longer for anything to change. */
const STILL_MS = 90_000;
const LOOK_MS = 250;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Blow after blow, until the time is over. */
class Storm {
  kills = 0;
  stops = 0;
  restarts = 0;
  readonly #init: ChaosInit;
  readonly #fleet: Fleet;
  readonly #numbers: Random;

  constructor(init: ChaosInit, fleet: Fleet) {
    this.#init = init;
    this.#fleet = fleet;
    this.#numbers = random(init.seed, 1);
  }

  async blow(): Promise<void> {
    const { lengthMs, server } = this.#init;
    const start = Date.now();
    let restartedAt = start;
    while (Date.now() - start < lengthMs) {
      await sleep(BLOW_MS / 3 + this.#numbers.below((BLOW_MS * 4) / 3));
      if (server !== undefined && Date.now() - restartedAt > RESTART_MS) {
        this.restarts += 1;
        await server.restart(this.restarts % 2 === 0 ? "crash" : "shutdown");
        restartedAt = Date.now();
      } else this.#hit();
    }
  }

  #hit(): void {
    const { workers, leaseMs } = this.#init;
    const slot = this.#numbers.below(workers);
    if (this.#numbers.below(5) < 3) {
      if (this.#fleet.kill(slot)) this.kills += 1;
    } else if (this.#fleet.stop(slot, leaseMs * (1.2 + this.#numbers.next() * 1.5))) this.stops += 1;
  }
}

/** How much is left to do, in numbers that change whenever something happens. */
async function leftOf(store: QueueStore): Promise<{ readonly isEmpty: boolean; readonly mark: string }> {
  const { runs, dispatches, pending, messages, events } = await store.stats();
  const left = runs.created + runs.running + runs.waiting + dispatches.queued + dispatches.claimed;
  return { isEmpty: left === 0, mark: JSON.stringify([runs, dispatches, pending, messages, events]) };
}

/** Until nothing is left, or nothing happens any more. */
async function drained(store: QueueStore, fleet: Fleet): Promise<void> {
  let mark = "";
  for (let changedAt = Date.now(); Date.now() - changedAt < STILL_MS; await sleep(LOOK_MS)) {
    const { isQuiet } = fleet;
    const left = await leftOf(store);
    if (left.isEmpty && isQuiet) return;
    if (left.mark !== mark) changedAt = Date.now();
    mark = left.mark;
  }
}

/** Plays it, lets everybody finish, and judges what is there. */
export async function playChaos(init: ChaosInit): Promise<Chaos> {
  const { place, folder, seed, workers, leaseMs, say = () => {} } = init;
  // Before anybody else, so that processes that are killed do so on a database that is there.
  await using store = await openStore(place);
  await store.stats();
  await using fleet = new Fleet({ place, folder, seed, startedAt: Date.now(), leaseMs, maxAttempts: MAX_ATTEMPTS }, workers);
  const storm = new Storm(init, fleet);
  // On a machine that is slow there may be nobody to hit, and nothing to lose, for all of that time.
  do await storm.blow();
  while (storm.kills === 0 || (await store.runs.count({})) === 0);
  const { kills, stops, restarts } = storm;
  say(`${kills} kills, ${stops} stops, ${restarts} restarts; waiting until nothing is left`);
  fleet.drain();
  await drained(store, fleet);
  await fleet.close();
  const verdict = await judge(store, folder);
  return { ...verdict, faults: [...fleet.crashes, ...verdict.faults], kills, stops, restarts };
}
