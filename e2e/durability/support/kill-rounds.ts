import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TicketDecision } from "@awaken/runtime";
import { random } from "../../inference/support/random.ts";
import type { AgentOrder, Answer, Kill, Question } from "../agent-process.ts";
import { isTalkative } from "./agent.ts";
import { runChild } from "./child.ts";
import { KILL_KINDS, type KillKind, type KillPlan } from "./kill-switch.ts";
import { Outside, readLines } from "./outside.ts";
import type { Place } from "./place.ts";

const PROGRAM = join(import.meta.dirname, "..", "agent-process.ts");

/** Threads that one process works on at the same time: a kill cuts all of them. */
const THREADS = 20;
/** Processes that are killed over the same threads before one is left alone. */
const KILLS = 3;
/** Processes at a time. */
const LANES = 2;

/** A kill comes at the n-th point of its kind, from the first number on, within so many. The runs of one process pass several times as many. */
const RANGES: Readonly<Record<KillKind, readonly [from: number, within: number]>> = {
  "before-commit": [24, 80],
  "inside-commit": [24, 80],
  "during-commit": [24, 80],
  "after-commit": [24, 80],
  "before-effect": [10, 60],
  "after-effect": [10, 60],
  emit: [40, 400],
};

function planOf(seed: number, batch: number, kill: number): KillPlan {
  const kind = KILL_KINDS[(batch * KILLS + kill) % KILL_KINDS.length] ?? "emit";
  const [from, within] = RANGES[kind];
  return { kind, nth: from + random(seed, batch, kill).below(within) };
}

export interface KillRoundsInit {
  readonly place: Place;
  readonly folder: string;
  readonly rounds: number;
  readonly seed: number;
}

/** What people were asked, and whether it had happened by then. */
export interface Asked {
  readonly action: string;
  readonly toolName: string;
  readonly hasHappened: boolean;
}

export interface KilledThread {
  /** The world that its effects are in. */
  readonly outside: Outside;
  /** It may go on with a new message. */
  readonly isTalkative: boolean;
}

export interface KillRounds {
  readonly threads: ReadonlyMap<string, KilledThread>;
  /** Threads whose run was cut at least once. */
  readonly cut: ReadonlySet<string>;
  readonly kills: readonly Kill[];
  readonly questions: readonly Asked[];
}

class Rounds {
  readonly threads = new Map<string, KilledThread>();
  readonly cut = new Set<string>();
  readonly kills: Kill[] = [];
  readonly questions: Asked[] = [];
  readonly #init: KillRoundsInit;
  #batches = 0;

  constructor(init: KillRoundsInit) {
    this.#init = init;
  }

  /** Batches up to this number, one after the other. */
  async lane(end: number): Promise<void> {
    while (this.#batches < end) await this.#batch(this.#batches++);
  }

  async #batch(batch: number): Promise<void> {
    const { place, folder, seed } = this.#init;
    const threads = Array.from({ length: THREADS }, (_, index) => `t${batch}-${index}`);
    const kills = join(folder, `kills-${batch}.jsonl`);
    const effects = join(folder, `effects-${batch}.jsonl`);
    writeFileSync(kills, "");
    writeFileSync(effects, "");
    const outside = new Outside(effects);
    for (const [index, thread] of threads.entries()) this.threads.set(thread, { outside, isTalkative: isTalkative(index) });
    const order: AgentOrder = { place, threads, outside: effects, kills };
    const onMessage = (question: Question) => this.#answer(question, outside);
    for (let kill = 0; ; kill++) {
      const plan = kill < KILLS ? { plan: planOf(seed, batch, kill) } : {};
      const { type } = await runChild<Question>({ file: PROGRAM, order: { ...order, ...plan }, onMessage });
      if (type === "exit") break;
    }
    for (const kill of readLines<Kill>(kills)) {
      this.kills.push(kill);
      for (const thread of kill.cut) this.cut.add(thread);
    }
  }

  /** As somebody would who can look at the outside: what happened is told, what did not may run. */
  #answer({ thread, run, tickets }: Question, outside: Outside): Answer {
    return {
      thread,
      decisions: tickets.map(({ id, action, toolName, order }): TicketDecision => {
        const found = outside.ofOrder(order);
        this.questions.push({ action, toolName, hasHappened: found !== undefined });
        if (found === undefined) return { ticket: id, decision: { action: "approve", run } };
        return { ticket: id, decision: { action: "answer", result: { order, receipt: found.receipt }, run } };
      }),
    };
  }
}

/** Runs that are cut again and again, until so many have been, and all of them are done. */
export async function playKillRounds(init: KillRoundsInit): Promise<KillRounds> {
  const rounds = new Rounds(init);
  const first = Math.ceil(init.rounds / THREADS);
  // A run may get through between two kills; if twice as many batches are not enough, processes are not killed.
  for (let end = first; end <= 2 * first && rounds.cut.size < init.rounds; end++) {
    // All lanes, so that no process is left behind when one fails.
    const ended = await Promise.allSettled(Array.from({ length: LANES }, () => rounds.lane(end)));
    for (const lane of ended) if (lane.status === "rejected") throw lane.reason;
  }
  return rounds;
}
