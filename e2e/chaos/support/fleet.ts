import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { startProgram } from "../../durability/support/program.ts";
import type { WorkerCommand, WorkerNews, WorkerOrder } from "../worker-process.ts";

const PROGRAM = join(import.meta.dirname, "..", "worker-process.ts");

type Base = Omit<WorkerOrder, "name" | "slot" | "life">;

interface Seat {
  child: ChildProcess;
  name: string;
  life: number;
  /** Until it says that it is ready nothing is done to it: on a busy machine nobody would ever come to work. */
  isReady: boolean;
  isQuiet: boolean;
  isStopped: boolean;
  /** We killed it. */
  isKilled: boolean;
}

/** Processes of one kind, each in its place; one that is killed has a successor at once. */
export class Fleet implements AsyncDisposable {
  readonly #base: Base;
  readonly #seats: Seat[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  #isDraining = false;
  #isEnding = false;
  /** Processes that ended by themselves. */
  readonly crashes: string[] = [];

  constructor(base: Base, size: number) {
    this.#base = base;
    for (let slot = 0; slot < size; slot++) this.#seats.push(this.#open(slot, 0));
  }

  /** False when there is nobody to be killed yet. */
  kill(slot: number): boolean {
    const seat = this.#seats[slot];
    if (seat === undefined || !seat.isReady) return false;
    seat.isKilled = true;
    seat.child.kill("SIGKILL");
    this.#seats[slot] = this.#open(slot, seat.life + 1);
    return true;
  }

  /** It stands still for so long, and then goes on as if nothing had been. */
  stop(slot: number, ms: number): boolean {
    const seat = this.#seats[slot];
    if (seat === undefined || !seat.isReady || seat.isStopped) return false;
    seat.isStopped = true;
    seat.child.kill("SIGSTOP");
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      seat.isStopped = false;
      seat.child.kill("SIGCONT");
    }, ms);
    this.#timers.add(timer);
    return true;
  }

  /** Everybody works, and nobody begins anything new. */
  drain(): void {
    this.#isDraining = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const seat of this.#seats) {
      seat.child.kill("SIGCONT");
      if (seat.isReady) this.#tell(seat, "drain");
    }
  }

  /** Whether nobody begins anything new any more. */
  get isQuiet(): boolean {
    return this.#seats.every((seat) => seat.isQuiet);
  }

  /** All end as they are told to. */
  async close(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(
      this.#seats.map(async (seat) => {
        const ended = once(seat.child, "exit");
        const timer = setTimeout(() => seat.child.kill("SIGKILL"), CLOSE_MS);
        this.#tell(seat, "close");
        const [code, signal]: unknown[] = await ended;
        clearTimeout(timer);
        if (code !== 0) this.crashes.push(`${seat.name} was told to end, and ended with ${code ?? signal}`);
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all(
      this.#seats.map(async ({ child }) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, "exit");
        child.kill("SIGKILL");
        await ended;
      }),
    );
  }

  #tell({ child }: Seat, command: WorkerCommand): void {
    if (child.connected) child.send(command, () => {});
  }

  #open(slot: number, life: number): Seat {
    const name = `${slot}-${life}`;
    const { folder } = this.#base;
    const order: WorkerOrder = { ...this.#base, name, slot, life };
    const out = openSync(join(folder, `out-${name}.txt`), "a");
    const child = startProgram(PROGRAM, order, {
      env: { ...process.env, NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? join(folder, "compiled") },
      stdio: ["ignore", out, out, "ipc"],
    });
    closeSync(out);
    const seat: Seat = { child, name, life, isReady: false, isQuiet: false, isStopped: false, isKilled: false };
    child.on("message", (news: WorkerNews) => {
      if (news === "quiet") seat.isQuiet = true;
      else {
        seat.isReady = true;
        if (this.#isDraining) this.#tell(seat, "drain");
      }
    });
    child.on("error", (error) => this.crashes.push(`${name}: ${error.message}`));
    child.on("exit", (code, signal) => {
      if (seat.isKilled || this.#isEnding) return;
      this.crashes.push(`${name} ended by itself with ${code ?? signal}`);
      if (this.crashes.length < MAX_CRASHES) this.#seats[slot] = this.#open(slot, life + 1);
    });
    return seat;
  }
}

/** More than a runtime takes to close, whatever happens. */
const CLOSE_MS = 120_000;
/** Processes that cannot even start are not started for ever. */
const MAX_CRASHES = 20;
