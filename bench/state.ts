/**
 * What a commit costs: it must not depend on the size of the values that it does not touch, and hardly on the number of keys.
 * Run: npm run bench:state
 */
import { type AnyStateKey, command, defineState } from "@awaken/runtime";
import { StateStore } from "@awaken/runtime/testing";
import * as z from "zod";

const ROUNDS = 7;
const ROUND_MS = 120;
const WARM_UP_MS = 200;
const FILL = "fill";
const MEGABYTE = 1_048_576;

interface Leaf {
  readonly n: number;
  readonly text: string;
}
type Branch = Readonly<Record<string, Leaf>>;

const counter = (name: string) =>
  defineState(name, {
    schema: z.object({ count: z.number(), label: z.string() }),
    initial: () => ({ count: 0, label: "a small value" }),
    apply: (value, _: number | typeof FILL) => ({ ...value, count: value.count + 1 }),
  });

const bigText = (name: string) =>
  defineState(name, { schema: z.string(), initial: () => "", apply: (_, __: typeof FILL) => name.padEnd(MEGABYTE, "x") });

const leaf = (n: number): Leaf => ({ n, text: "x".repeat(80) });
const branch = (leaves: number): Branch => Object.fromEntries(Array.from({ length: leaves }, (_, n) => [`leaf${n}`, leaf(n)]));

/** 100 branches of 100 leaves; a number changes one leaf and shares the rest. */
const bigTree = (name: string) =>
  defineState(name, {
    schema: z.custom<Readonly<Record<string, Branch>>>(),
    initial: () => ({}),
    apply(value, update: number | typeof FILL) {
      if (update === FILL) return Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`branch${n}`, branch(100)]));
      const [branchName, leafName] = [`branch${update % 100}`, `leaf${update % 100}`];
      return { ...value, [branchName]: { ...value[branchName], [leafName]: { n: update, text: "changed" } } };
    },
  });

/** 10,000 entries; a number replaces one of them in a copy of the list. */
const bigList = (name: string) =>
  defineState(name, {
    schema: z.custom<readonly Leaf[]>(),
    initial: () => [],
    apply(value, update: number | typeof FILL) {
      if (update === FILL) return Array.from({ length: 10_000 }, (_, n) => leaf(n));
      // V8 spreads a frozen list much faster than it slices it.
      const copy = [...value];
      copy[update % copy.length] = { n: update, text: "changed" };
      return copy;
    },
  });

interface Case {
  readonly name: string;
  readonly keys: number;
  readonly committed: AnyStateKey;
  /** The other keys that are not small. */
  readonly ballast: readonly AnyStateKey[];
  /** The name of the case to compare with. */
  readonly against: string;
}

const touched = counter("touched");
const [textInOne, treeInOne] = [bigText("text"), bigTree("tree")];
const nineTrees = Array.from({ length: 9 }, (_, n) => bigTree(`tree${n}`));
const CASES: readonly Case[] = [
  { name: "10 keys, all small", keys: 10, committed: touched, ballast: [], against: "10 keys, all small" },
  { name: "100 keys, all small", keys: 100, committed: touched, ballast: [], against: "10 keys, all small" },
  { name: "10 keys, another holds a 1 MB text", keys: 10, committed: touched, ballast: [textInOne], against: "10 keys, all small" },
  { name: "10 keys, another holds a 1 MB tree", keys: 10, committed: touched, ballast: [treeInOne], against: "10 keys, all small" },
  { name: "10 keys, all others hold a 1 MB tree", keys: 10, committed: touched, ballast: nineTrees, against: "10 keys, all small" },
  {
    name: "100 keys, others hold a 1 MB text and tree",
    keys: 100,
    committed: touched,
    ballast: [textInOne, treeInOne],
    against: "100 keys, all small",
  },
  { name: "10 keys, one leaf of its own 1 MB tree", keys: 10, committed: bigTree("own"), ballast: [], against: "10 keys, all small" },
  { name: "100 keys, one leaf of its own 1 MB tree", keys: 100, committed: bigTree("own"), ballast: [], against: "10 keys, all small" },
  { name: "10 keys, one entry of its own 1 MB list", keys: 10, committed: bigList("own"), ballast: [], against: "10 keys, all small" },
];

function storeOf({ keys, committed, ballast }: Case): StateStore {
  const store = new StateStore({ warn: console.warn, error: console.error });
  const rest = Array.from({ length: keys - 1 - ballast.length }, (_, n) => counter(`small${n}`));
  const all: readonly AnyStateKey[] = [committed, ...ballast, ...rest];
  store.register(all);
  const fill = command();
  for (const key of all) fill.update(key, FILL);
  store.commit(fill);
  return store;
}

/** Of this thread, so that a busy machine does not count. */
function cpuMicros(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

/** Microseconds per commit over about this much time. */
function round(store: StateStore, key: AnyStateKey, ms: number): number {
  const begin = cpuMicros();
  let commits = 0;
  let now = begin;
  while (now - begin < ms * 1_000) {
    for (let n = 0; n < 64; n++) store.commit(command().update(key, commits++));
    now = cpuMicros();
  }
  return (now - begin) / commits;
}

function measure(one: Case): number {
  globalThis.gc?.();
  const store = storeOf(one);
  round(store, one.committed, WARM_UP_MS);
  const times = Array.from({ length: ROUNDS }, () => round(store, one.committed, ROUND_MS)).sort((a, b) => a - b);
  return times[Math.floor(ROUNDS / 2)] ?? Number.NaN;
}

const results = new Map<string, number>();
const rows = CASES.map((one) => {
  const micros = measure(one);
  results.set(one.name, micros);
  const ratio = micros / (results.get(one.against) ?? Number.NaN);
  return {
    case: one.name,
    "commits/s": Math.round(1_000_000 / micros).toLocaleString("en"),
    "µs/commit": micros.toFixed(2),
    ratio: `${ratio.toFixed(2)} × ${one.against}`,
  };
});
console.table(rows);
