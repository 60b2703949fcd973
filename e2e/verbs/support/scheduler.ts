import type { Clock } from "@awaken/runtime";
import { fakeClock } from "@awaken/runtime/testing";
import { type Random, random } from "../../inference/support/random.ts";

interface Step {
  readonly lane: Lane;
  readonly name: string;
  /** How likely it is next, beside the others. */
  readonly weight: number;
  readonly go: () => void;
}

/** What waits for long beside the rest, so that everything else comes first. */
const LATE = 0.02;
const BEGIN = 1_700_000_000_000;
const MAX_IDLE_MS = 2_000;
/** One that plays on and on does not come to rest. */
const MAX_STEPS = 300_000;

/**
 * Decides what comes next: an answer of the store, a part of a model, the end of a tool, or time. Nothing else waits for anything outside of the
 * program, so the same seed makes the same history.
 */
export class Scheduler {
  readonly clock = fakeClock(BEGIN);
  readonly numbers: Random;
  /** How often time makes a leap in which leases end, from 0 to 1. */
  leaps = 0;
  #steps: Step[] = [];
  #count = 0;
  #print = 0;
  /** How often it was found idle, one after the other. */
  #idle = 0;
  readonly #onStep: (line: string) => void;

  constructor(seed: number, onStep: (line: string) => void = () => {}) {
    this.numbers = random(seed, 1);
    this.#onStep = onStep;
  }

  /** How many steps there were. */
  get count(): number {
    return this.#count;
  }

  /** Says that two histories are the same. */
  get print(): string {
    return `${this.#count}-${this.#print.toString(16)}`;
  }

  /** Since the beginning. */
  get elapsedMs(): number {
    return this.clock.now() - BEGIN;
  }

  get isIdle(): boolean {
    return this.#steps.length === 0;
  }

  /** For whoever reads the steps. */
  tell(line: string): void {
    this.#onStep(`${this.#count} @${this.elapsedMs} ${line}`);
  }

  add(lane: Lane, name: string, go: () => void): void {
    const weight = this.numbers.below(25) === 0 ? LATE : 1;
    this.#steps.push({ lane, name, weight, go });
  }

  /** Whoever is gone hears nothing any more. */
  drop(lane: Lane): void {
    this.#steps = this.#steps.filter((step) => step.lane !== lane);
  }

  /** Plays on until the work is done. */
  async until<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    work.then(done, done);
    for (await this.clock.advance(0); !isDone; ) await this.#step();
    return work;
  }

  /** Plays on for so long, and until nothing but timers is left. */
  async pass(ms: number): Promise<void> {
    const end = this.clock.now() + ms;
    await this.clock.advance(0);
    while (this.clock.now() < end || !this.isIdle) await this.#step();
  }

  async #step(): Promise<void> {
    if (++this.#count > MAX_STEPS) throw new Error("it does not come to rest");
    const roll = this.numbers.next();
    if (this.isIdle) await this.#advance(Math.min(2 ** this.#idle++, MAX_IDLE_MS));
    else if (roll < this.leaps) await this.#advance(this.numbers.below(5_000));
    else if (roll < 0.08) await this.#advance(1 + this.numbers.below(5));
    else {
      const step = this.#pick();
      this.#note(`${step.lane.name} ${step.name}`);
      this.#idle = 0;
      step.go();
      await this.clock.advance(0);
    }
  }

  async #advance(ms: number): Promise<void> {
    this.#note(`+${ms}`);
    await this.clock.advance(ms);
  }

  #pick(): Step {
    let left = this.numbers.next() * this.#steps.reduce((sum, { weight }) => sum + weight, 0);
    const at = this.#steps.findIndex(({ weight }) => {
      left -= weight;
      return left < 0;
    });
    const [step] = this.#steps.splice(Math.max(at, 0), 1);
    if (step === undefined) throw new Error("there is no step to pick");
    return step;
  }

  #note(line: string): void {
    for (let at = 0; at < line.length; at++) this.#print = (Math.imul(this.#print, 31) + line.charCodeAt(at)) >>> 0;
    this.tell(line);
  }
}

/** All that one process waits for: it comes when the scheduler says so, and never again once the process is cut off. */
export class Lane {
  readonly name: string;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly #cut = new AbortController();

  constructor(scheduler: Scheduler, name: string) {
    this.scheduler = scheduler;
    this.name = name;
    const { clock } = scheduler;
    const alive = (fire: () => void) => () => {
      if (!this.cut.aborted) fire();
    };
    this.clock = {
      now: () => clock.now(),
      timer: (ms, fire) => clock.timer(ms, alive(fire)),
      idleTimer: (ms, fire) => (clock.idleTimer ?? clock.timer)(ms, alive(fire)),
    };
  }

  get cut(): AbortSignal {
    return this.#cut.signal;
  }

  /** As a process that is killed. */
  end(): void {
    this.scheduler.drop(this);
    this.#cut.abort();
  }

  later(name: string, work: () => void): void {
    if (!this.cut.aborted) this.scheduler.add(this, name, work);
  }

  hold(name: string): Promise<void> {
    return new Promise((resolve) => this.later(name, resolve));
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.timer(ms, resolve);
    });
  }

  /** What it has of the work; never settles when it is cut off before. */
  whole<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(
        (value) => this.cut.aborted || resolve(value),
        (thrown) => this.cut.aborted || reject(thrown),
      );
    });
  }
}
