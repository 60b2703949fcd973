import { type Evaluator, Unusable } from "./evaluator.ts";
import type { Instruction, Pattern, Program } from "./pattern.ts";

const isWord = (character: string | undefined): boolean => character !== undefined && /^\w$/.test(character);

class Matching {
  readonly #text: readonly string[];
  readonly #steps: Evaluator["patternSteps"];

  constructor(text: readonly string[], steps: Evaluator["patternSteps"]) {
    this.#text = text;
    this.#steps = steps;
  }

  /** Whether the program comes to its end, from this place or, unless it is anchored, from a later one. */
  run(program: Program, from: number, isAnchored: boolean): boolean {
    let reached = new Set<number>();
    for (let at = from; ; at++) {
      if (at === from || !isAnchored) this.#follow(program, 0, at, reached);
      if (reached.has(program.length - 1)) return true;
      const character = this.#text[at];
      if (character === undefined || (isAnchored && reached.size === 0)) return false;
      const next = new Set<number>();
      for (const place of reached) {
        const instruction = program[place];
        if (instruction?.type === "take" && instruction.takes(character)) this.#follow(program, place + 1, at + 1, next);
      }
      reached = next;
    }
  }

  /** Every place that can be reached without taking a character. */
  #follow(program: Program, start: number, at: number, reached: Set<number>): void {
    const open = [start];
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      const instruction = program[place];
      if (instruction === undefined || reached.has(place)) continue;
      this.#steps.left -= 1;
      if (this.#steps.left < 0) throw new Unusable("the patterns of the schema take too many steps to check");
      reached.add(place);
      if (instruction.type === "split") open.push(...instruction.to);
      else if (this.#passes(instruction, at)) open.push(place + 1);
    }
  }

  #passes(instruction: Instruction, at: number): boolean {
    if (instruction.type === "ahead") return this.run(instruction.program, at, true) !== instruction.isNegative;
    if (instruction.type !== "edge") return false;
    switch (instruction.edge) {
      case "start":
        return at === 0;
      case "end":
        return at === this.#text.length;
      case "word":
        return isWord(this.#text[at - 1]) !== isWord(this.#text[at]);
      case "no-word":
        return isWord(this.#text[at - 1]) === isWord(this.#text[at]);
    }
  }
}

/** Whether the text has something that the pattern matches. Throws when no steps are left. */
export function matches({ program, isUnicode }: Pattern, text: string, steps: Evaluator["patternSteps"]): boolean {
  return new Matching(isUnicode ? [...text] : text.split(""), steps).run(program, 0, false);
}
