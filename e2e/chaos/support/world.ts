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

/** A line of the outside: what was asked for. */
interface Asked extends Omit<Execution, "isNew"> {
  readonly isOnce: boolean;
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
    const firsts = new Map<string, Asked>();
    return (existsSync(path) ? readLines<Asked>(path) : []).map(({ isOnce, ...asked }): Execution => {
      const first = firsts.get(asked.key);
      if (first === undefined) firsts.set(asked.key, { isOnce, ...asked });
      return first === undefined || !isOnce ? { ...asked, isNew: true } : { ...asked, receipt: first.receipt, isNew: false };
    });
  }

  underKey(order: string, key: string): Execution | undefined {
    return this.executions(threadOf(order)).find((execution) => execution.key === key);
  }

  /** It happens, whatever happened before. */
  happen(tool: string, order: string, key: string): Execution {
    return { ...this.#write(tool, order, key, false), isNew: true };
  }

  /**
   * One key is one effect; who asks again is noted, and gets the first answer. Which was first is said by the file, so that nobody who is
   * stopped between a look and a line makes two of one.
   */
  happenOnce(tool: string, order: string, key: string): Execution {
    const asked = this.#write(tool, order, key, true);
    return this.underKey(order, key) ?? { ...asked, isNew: true };
  }

  /** The time is that at which it was asked for: how long a line takes is the outside's. */
  #write(tool: string, order: string, key: string, isOnce: boolean): Asked {
    const asked = { tool, order, key, receipt: randomUUID(), pid: process.pid, at: Date.now(), isOnce };
    appendLine(this.#pathOf(threadOf(order)), asked);
    return asked;
  }

  #pathOf(thread: string): string {
    return join(this.#folder, `outside-${thread}.jsonl`);
  }
}
