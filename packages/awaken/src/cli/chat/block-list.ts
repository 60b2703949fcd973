import type { Block, Change } from "./block.ts";

/** Blocks in order, and whoever wants to know what changes. */
export class BlockList {
  readonly #blocks: Block[] = [];
  readonly #onChange: (change: Change) => void;

  constructor(onChange: (change: Change) => void) {
    this.#onChange = onChange;
  }

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  add(block: Block): void {
    this.#blocks.push(block);
    this.#onChange({ type: "added", index: this.#blocks.length - 1, block });
  }

  replace(index: number, block: Block): void {
    const before = this.#blocks[index];
    if (before === undefined) return;
    this.#blocks[index] = block;
    this.#onChange({ type: "changed", index, block, before });
  }

  /** Index of the last one, -1 without one. */
  findLast(isMeant: (block: Block) => boolean): number {
    return this.#blocks.findLastIndex(isMeant);
  }

  /** Takes away what is meant, from an index on. */
  drop(from: number, isMeant: (block: Block) => boolean, why: string): void {
    const kept = this.#blocks.slice(from).filter((block) => !isMeant(block));
    if (this.#blocks.length - from === kept.length) return;
    this.#blocks.splice(from, this.#blocks.length - from, ...kept);
    this.#onChange({ type: "reset", why });
  }
}
