/**
 * What a registry costs as it grows: reads and resolution must not depend on how many agents there are; edits are reported.
 * Run: npx node --conditions=awaken-source bench/registry.ts
 */
import type { Provider } from "@awaken/contract";
import {
  createRegistrySet,
  createResolver,
  diagnoseRegistry,
  PoolCache,
  type RegistryDraft,
  RegistryHandle,
  type ResolverInit,
  stopPolicy,
  systemClock,
} from "@awaken/runtime";

const SIZES = [10, 1_000, 10_000] as const;
const BUDGET_MS = 1_500;
const LIMIT = 2;
const SILENT = { warn() {}, error() {} };

const provider = (name: string): Provider => ({
  name,
  stream() {
    throw new Error("nobody asks here");
  },
});

const resolverOf = (snapshot: ResolverInit["snapshot"]) =>
  createResolver({
    snapshot,
    runtimePlugins: ({ agent }) => [stopPolicy(agent.maxSteps, agent.stopConditions)],
    pools: new PoolCache({ clock: systemClock, log: SILENT }),
    log: SILENT,
  });

function specsOf(size: number) {
  const agent = (n: number) => ({
    model: n % 7 === 0 ? "pool" : "fast",
    instructions: `You are agent ${n}. ${"Be brief, be kind, be right. ".repeat(20)}`,
    delegates: n === 0 ? [] : [`agent-${n - 1}`],
    sections: { notes: { tags: ["one", "two"], limits: { cents: n } } },
  });
  return {
    providers: { p: provider("p"), q: provider("q") },
    models: { fast: { provider: "p", model: "small" }, smart: { provider: "q", model: "large" } },
    pools: { pool: { members: [{ model: "fast" }, { model: "smart" }] } },
    agents: Object.fromEntries(Array.from({ length: size }, (_, n) => [`agent-${n}`, agent(n)])),
  };
}

interface Work {
  readonly call: (n: number) => unknown;
  readonly samples: number[];
  /** Calls per sample. */
  batch: number;
  n: number;
}

function sample(work: Work): number {
  const start = performance.now();
  for (let i = 0; i < work.batch; i++) work.call(work.n++);
  const ms = performance.now() - start;
  work.samples.push((ms * 1000) / work.batch);
  return ms;
}

/** Microseconds of one call: the lower quartile, because other programs only ever make it slower. */
function judge({ samples }: Work): number {
  return samples.sort((a, b) => a - b)[samples.length >> 2] ?? Number.NaN;
}

/** All sizes take turns, so that a slow moment of the machine hits each of them. */
function measure(calls: readonly Work["call"][]): readonly number[] {
  const works = calls.map((call): Work => ({ call, samples: [], batch: 1, n: 0 }));
  // What is made once per agent is made before the batches are sized.
  for (const work of works) for (let i = 0; i < 20; i++) work.call(work.n++);
  for (const work of works) while (sample(work) < 1) work.batch *= 2;
  for (const work of works) work.samples.length = 0;
  const end = performance.now() + BUDGET_MS;
  while (performance.now() < end || works.some(({ samples }) => samples.length < 4)) for (const work of works) sample(work);
  return works.map(judge);
}

/** A registry of one size and what is done to it. `call` gets a number that goes up by one. */
function openSize(size: number): { readonly [row: string]: Work["call"] } {
  const handle = new RegistryHandle(createRegistrySet(specsOf(size)));
  const snapshot = () => handle.snapshot();
  const resolver = resolverOf(snapshot);
  const hot = Array.from({ length: 10 }, (_, n) => `agent-${Math.floor((n * size) / 10)}`);
  const id = (n: number): string => hot[n % hot.length] ?? "";
  const edit = (agentId: string, n: number) =>
    handle.update(({ agents }) => {
      agents[agentId] = { ...agents[agentId], instructions: `edit ${n}` };
    });
  const add = ({ agents }: RegistryDraft) => void Object.assign(agents, { newcomer: { model: "fast" } });
  const remove = ({ agents }: RegistryDraft) => void Reflect.deleteProperty(agents, "newcomer");
  return {
    "snapshot read": (n) => snapshot().registries.agents.get(id(n)),
    "resolve, compiled before": (n) => resolver.open().resolve(id(n)),
    "resolve, first time": (n) => resolverOf(snapshot).open().resolve(id(n)),
    "edit one agent": (n) => edit(id(n), n),
    "edit, then resolve": (n) => [edit(id(n), n), resolver.open().resolve(id(n))],
    "replace a provider": (n) => handle.replaceProvider("p", provider(`p-${n}`)),
    "add an agent, remove it": () => [handle.update(add), handle.update(remove)],
    "preview of a removal": () => handle.previewRemoveProvider("p"),
    "validate everything": () => diagnoseRegistry(snapshot().registries),
  };
}

const MUST_NOT_GROW = new Set(["snapshot read", "resolve, compiled before", "resolve, first time"]);
const micros = (value: number): string => (value < 10 ? value.toFixed(3) : value.toFixed(1)).padStart(14);

const sizes = SIZES.map(openSize);
const warmUp = openSize(100);
console.log(`${"microseconds".padEnd(26)}${SIZES.map((size) => `${size} agents`.padStart(14)).join("")}${"growth".padStart(10)}`);
for (const row of Object.keys(sizes[0] ?? {})) {
  // The first in line pays for the compiler, so nobody looks at it.
  const [, ...values] = measure([warmUp, ...sizes].map((works) => works[row] ?? (() => {})));
  const growth = (values.at(-1) ?? Number.NaN) / (values[0] ?? Number.NaN);
  const isTooMuch = MUST_NOT_GROW.has(row) && !(growth <= LIMIT);
  const verdict = !MUST_NOT_GROW.has(row) ? "" : isTooMuch ? `  over ${LIMIT}x` : `  within ${LIMIT}x`;
  console.log(`${row.padEnd(26)}${values.map(micros).join("")}${`${growth.toFixed(2)}x`.padStart(10)}${verdict}`);
  if (isTooMuch) process.exitCode = 1;
}
