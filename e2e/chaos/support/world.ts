import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { appendLine, readLines } from "../../durability/support/outside.ts";

/** One execution of a tool, as the outside saw it. */
export interface Execution {
  readonly tool: string;
  readonly order: string;
  readonly key: string;
  readonly receipt: string;
  /** Whether it had an effect, or was answered with the one before. */
  readonly isNew: boolean;
  readonly pid: number;
  readonly at: number;
}

export const threadOf = (order: string): string => order.slice(0, order.indexOf("/"));

/** The world outside of the runtime: a file for each thread, which outlives every process. */
export class World {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  executions(thread: string): readonly Execution[] {
    const path = this.#pathOf(thread);
    return existsSync(path) ? readLines<Execution>(path) : [];
  }

  underKey(order: string, key: string): Execution | undefined {
    return this.executions(threadOf(order)).find((execution) => execution.key === key);
  }

  /** It happens, whatever happened before. */
  happen(tool: string, order: string, key: string): Execution {
    return this.#write({ tool, order, key, receipt: randomUUID(), isNew: true });
  }

  /** One key is one effect; who asks again is noted, and gets the first answer. */
  happenOnce(tool: string, order: string, key: string): Execution {
    const first = this.underKey(order, key);
    return first === undefined ? this.happen(tool, order, key) : this.#write({ tool, order, key, receipt: first.receipt, isNew: false });
  }

  #write(what: Omit<Execution, "pid" | "at">): Execution {
    const execution = { ...what, pid: process.pid, at: Date.now() };
    appendLine(this.#pathOf(threadOf(what.order)), execution);
    return execution;
  }

  #pathOf(thread: string): string {
    return join(this.#folder, `outside-${thread}.jsonl`);
  }
}
