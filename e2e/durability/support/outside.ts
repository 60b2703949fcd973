import { randomUUID } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";

/** Something that happened in the world and cannot be undone. */
export interface OutsideEffect {
  /** What was ordered: an effect that happens twice has its order twice. */
  readonly order: string;
  /** Under which key it was ordered. */
  readonly key: string;
  /** Made by the outside when it happened: nobody who was not told it can know it. */
  readonly receipt: string;
}

/** One line, whoever else writes to the file. When this returns, the file has it: it outlives this process, if not the machine. */
export function appendLine(path: string, value: object): void {
  appendFileSync(path, `${JSON.stringify(value)}\n`);
}

/** What is behind the last line break is still being written: whoever reads a file that grows takes whole lines only. */
export function readLines<T>(path: string): readonly T[] {
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.filter((line) => line !== "").map((line): T => JSON.parse(line));
}

/** The world outside of the runtime: a file of effects that outlives every process. */
export class Outside {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  effects(): readonly OutsideEffect[] {
    return readLines<OutsideEffect>(this.#path);
  }

  /** It happens, whatever happened before. */
  happen(order: string, key: string): OutsideEffect {
    const effect = { order, key, receipt: randomUUID() };
    appendLine(this.#path, effect);
    return effect;
  }

  /** As an API with idempotency keys does it: one key is one effect, and who asks again gets the first answer. */
  happenOnce(order: string, key: string): OutsideEffect {
    return this.underKey(key) ?? this.happen(order, key);
  }

  underKey(key: string): OutsideEffect | undefined {
    return this.effects().find((effect) => effect.key === key);
  }

  ofOrder(order: string): OutsideEffect | undefined {
    return this.effects().find((effect) => effect.order === order);
  }
}
