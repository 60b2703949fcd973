import { dispatchId } from "@awaken/contract";
import type { Fence } from "@awaken/contract/store";

/** The same for the same seed. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  is(probability: number): boolean {
    return this.next() < probability;
  }

  of<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0];
  }

  some<T>(choices: readonly T[], probability: number): readonly T[] {
    return choices.filter(() => this.is(probability));
  }
}

/** What one engine calls what it names by itself: events, cursors, claims, the dispatches that it makes. */
export class Names {
  readonly #names = new Map<string, string>();
  readonly #real = new Map<string, string>();

  get count(): number {
    return this.#names.size;
  }

  /** What was named since then never came to be. */
  forget(count: number): void {
    for (const [key, name] of [...this.#names].slice(count)) {
      this.#names.delete(key);
      this.#real.delete(name);
    }
  }

  real(name: string): string {
    return this.#real.get(name) ?? name;
  }

  /** An engine may give things of two kinds the same one. */
  #nameOf(kind: string, real: string): string {
    const known = this.#names.get(`${kind} ${real}`);
    if (known !== undefined) return known;
    const name = `#${this.#names.size}`;
    this.#names.set(`${kind} ${real}`, name);
    this.#real.set(name, real);
    return name;
  }

  /** The answer of this engine with names that are those of every other. */
  told(value: unknown, key = ""): unknown {
    if (typeof value === "string") return isOwn(key, value) ? this.#nameOf(key, value) : value;
    if (Array.isArray(value)) return value.map((item) => this.told(item));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).filter(([name, item]) => item !== undefined && name !== "bytes");
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, item]) => [name, this.told(item, name)]));
  }
}

const OWN = new Set(["eventId", "claimToken", "thread", "run"]);
const GIVEN = /^[trdm]\d+$/;
const isOwn = (key: string, value: string): boolean => OWN.has(key) || ((key === "dispatchId" || key === "runId") && !GIVEN.test(value));

/** What the calls so far have given, for those that come. */
export class Pool {
  readonly fences: Fence[] = [];
  readonly cursors: string[] = [];

  /** Of an answer in names. */
  learn(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    const { claimToken, dispatchId: id } = { claimToken: undefined, dispatchId: undefined, ...value };
    if (typeof claimToken === "string" && typeof id === "string") this.fences.unshift({ dispatchId: dispatchId(id), claimToken });
    for (const [key, item] of Object.entries(value)) {
      if (key !== "cursors") this.learn(item);
      else for (const cursor of Object.values(item)) if (typeof cursor === "string") this.cursors.unshift(cursor);
    }
    this.fences.splice(8);
    this.cursors.splice(40);
  }
}
