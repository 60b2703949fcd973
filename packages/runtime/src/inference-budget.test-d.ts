import * as z from "zod";
import { allow, ask, block, command, defineState, defineTool, fail, reply, type StateKey, type Tool, wait } from "./index.ts";
import type { StateReader } from "./state/snapshot.ts";

// 30 state keys and 30 tools as a user writes them: no annotation but that of an update. `scripts/check-inference.ts` counts
// what the compiler spends on this file.

export const counter = defineState("demo.counter", { schema: z.number(), initial: () => 0, apply: (value, add: number) => value + add });
export const spend = defineState("demo.spend", {
  scope: "thread",
  merge: "commutative",
  schema: z.object({ cents: z.number() }),
  initial: () => ({ cents: 0 }),
  apply: (value, update: { add: number }) => ({ cents: value.cents + update.add }),
});
export const title = defineState("demo.title", { schema: z.string(), initial: () => "", apply: (_, next: string) => next });
export const flag = defineState("demo.flag", {
  schema: z.boolean(),
  initial: () => false,
  apply: (value, toggle: boolean) => value !== toggle,
});
export const tags = defineState("demo.tags", {
  merge: "commutative",
  schema: z.array(z.string()),
  initial: () => [],
  apply: (value, tag: string) => [...new Set([...value, tag])],
});
export const active = defineState("demo.active", {
  scope: "thread",
  schema: z.string().nullable(),
  initial: () => null,
  apply: (_, agent: string | null) => agent,
});
export const position = defineState("demo.position", {
  schema: z.tuple([z.number(), z.number()]),
  initial: () => [0, 0],
  apply: ([x, y], move: { dx: number; dy: number }) => [x + move.dx, y + move.dy],
});
export const mode = defineState("demo.mode", {
  schema: z.enum(["plan", "act", "review"]),
  initial: () => "plan",
  apply: (_, next: "plan" | "act" | "review") => next,
});
export const scores = defineState("demo.scores", {
  merge: "commutative",
  schema: z.record(z.string(), z.number()),
  initial: () => ({}),
  apply: (value, { name, points }: { name: string; points: number }) => ({ ...value, [name]: (value[name] ?? 0) + points }),
});
export const shape = defineState("demo.shape", {
  schema: z.discriminatedUnion("type", [
    z.object({ type: z.literal("circle"), radius: z.number() }),
    z.object({ type: z.literal("square"), side: z.number() }),
  ]),
  initial: () => ({ type: "circle", radius: 1 }),
  apply: (value, factor: number) =>
    value.type === "circle" ? { type: "circle", radius: value.radius * factor } : { type: "square", side: value.side * factor },
});
export const profile = defineState("demo.profile", {
  schema: z.object({ name: z.string(), age: z.number().optional() }),
  initial: () => ({ name: "" }),
  apply: (value, patch: { name?: string; age?: number }) => ({ ...value, ...patch }),
});
export const todo = defineState("demo.todo", {
  scope: "thread",
  schema: z.array(z.object({ id: z.string(), text: z.string(), done: z.boolean() })),
  initial: () => [],
  apply(value, update: { type: "add"; id: string; text: string } | { type: "done"; id: string }) {
    if (update.type === "add") return [...value, { id: update.id, text: update.text, done: false }];
    return value.map((item) => (item.id === update.id ? { ...item, done: true } : item));
  },
});
export const clockState = defineState("demo.clock", {
  persistent: false,
  schema: z.date(),
  initial: () => new Date(0),
  apply: (_, at: Date) => at,
});
export const cache = defineState("demo.cache", {
  persistent: false,
  schema: z.map(z.string(), z.number()),
  initial: () => new Map(),
  apply: (value, [key, size]: readonly [string, number]) => new Map(value).set(key, size),
});
export const highest = defineState("demo.highest", {
  merge: "commutative",
  schema: z.number(),
  initial: () => 0,
  apply: (value, seen: number) => Math.max(value, seen),
});
export const budget = defineState("demo.budget", {
  schema: z.object({ cap: z.number().default(500), used: z.number() }),
  initial: () => ({ cap: 500, used: 0 }),
  apply: (value, use: { tokens: number }) => ({ ...value, used: value.used + use.tokens }),
  refuse: (value, use) => (value.used + use.tokens > value.cap ? "over the cap" : undefined),
});
export const plan = defineState("demo.plan", {
  schema: z.object({ steps: z.array(z.string()), current: z.number() }),
  initial: () => ({ steps: [], current: 0 }),
  apply: (value, next: { steps: string[] } | "advance") =>
    next === "advance" ? { ...value, current: value.current + 1 } : { steps: next.steps, current: 0 },
});
export const visits = defineState("demo.visits", {
  schema: z.array(z.string()),
  initial: () => [],
  apply: (value, visit: { url: string; at: number }) => [...value, `${visit.at} ${visit.url}`],
});
export const language = defineState("demo.language", {
  schema: z.union([z.literal("en"), z.literal("de"), z.literal("no")]),
  initial: () => "en",
  apply: (_, next: "en" | "de" | "no") => next,
});
export const limits = defineState("demo.limits", {
  schema: z.object({ perMinute: z.number(), perDay: z.number() }),
  initial: () => ({ perMinute: 10, perDay: 1000 }),
  apply: (value, update: Partial<{ perMinute: number; perDay: number }>) => ({ ...value, ...update }),
});
export const drafts = defineState("demo.drafts", {
  schema: z.record(z.string(), z.array(z.string())),
  initial: () => ({}),
  apply: (value, { id, body }: { id: string; body: string }) => ({ ...value, [id]: [...(value[id] ?? []), body] }),
});
export const approvals = defineState("demo.approvals", {
  scope: "thread",
  merge: "commutative",
  schema: z.array(z.tuple([z.string(), z.boolean()])),
  initial: () => [["nobody", false]],
  apply: (value, approval: [by: string, isGranted: boolean]) => [...value, approval],
});
export const errors = defineState("demo.errors", {
  schema: z.object({ count: z.number(), last: z.string().nullable() }),
  initial: () => ({ count: 0, last: null }),
  apply: (value, message: string) => ({ count: value.count + 1, last: message }),
});
export const theme = defineState("demo.theme", {
  schema: z.object({ dark: z.boolean(), accent: z.string() }),
  initial: () => ({ dark: false, accent: "blue" }),
  apply: (value, dark: boolean) => ({ ...value, dark }),
});
export const weights = defineState("demo.weights", {
  schema: z.array(z.number()).readonly(),
  initial: () => [],
  apply: (value, factor: number) => value.map((weight) => weight * factor),
});
export const session = defineState("demo.session", {
  schema: z.object({ id: z.string(), startedAt: z.number(), roles: z.array(z.enum(["reader", "writer"])) }),
  initial: () => ({ id: "", startedAt: 0, roles: ["reader"] }),
  apply: (value, role: "reader" | "writer") => ({ ...value, roles: [...value.roles, role] }),
});
export const matrix = defineState("demo.matrix", {
  schema: z.array(z.array(z.number())),
  initial: () => [[1]],
  apply: (value, factor: number) => value.map((row) => row.map((cell) => cell * factor)),
});
export const migrated = defineState("demo.migrated", {
  schema: z.object({ total: z.number() }),
  initial: () => ({ total: 0 }),
  apply: (value, add: number) => ({ total: value.total + add }),
  migrations: [(old) => ({ total: old })],
});
export const anything = defineState("demo.anything", {
  schema: z.union([z.string(), z.number(), z.array(z.string())]),
  initial: () => 0,
  apply: (value, next: string) => (typeof value === "number" ? next : [next]),
});
export const ledger = defineState("demo.ledger", {
  scope: "thread",
  schema: z.object({ balance: z.number(), entries: z.array(z.number()) }),
  initial: () => ({ balance: 0, entries: [] }),
  apply: (value, cents: number) => ({ balance: value.balance + cents, entries: [...value.entries, cents] }),
});

export const weather = defineTool({
  id: "weather",
  description: "Current weather for a city",
  input: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, tempC: 21 }),
});
export const refund = defineTool({
  id: "refund",
  description: "Refund an order",
  input: z.object({ orderId: z.string(), amount: z.number() }),
  approve: ({ amount }) => (amount > 100 ? ask(`Refund ${amount}?`) : allow()),
  execute: ({ orderId, amount }, { idempotencyKey }) => ({ orderId, amount, idempotencyKey }),
});
export const add = defineTool({
  id: "add",
  description: "a + b",
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});
export const upper = defineTool({
  id: "upper",
  description: "Upper case",
  input: z.object({ text: z.string() }),
  output: z.string(),
  execute: ({ text }) => text.toUpperCase(),
});
export const search = defineTool({
  id: "search",
  description: "Search",
  input: z.object({ query: z.string(), limit: z.number().default(10) }),
  output: z.array(z.string()),
  execute: async ({ query, limit }) => [`https://example.com/?q=${query}&n=${limit}`],
});
export const readFile = defineTool({
  id: "read_file",
  description: "Read a file",
  input: z.object({ path: z.string(), encoding: z.enum(["utf8", "base64"]).optional() }),
  pure: true,
  execute: ({ path, encoding }) => `${path} as ${encoding ?? "utf8"}`,
});
export const writeFile = defineTool({
  id: "write_file",
  description: "Write a file",
  input: z.object({ path: z.string(), body: z.string() }),
  idempotent: true,
  approve: ({ path }) => (path.startsWith("/etc") ? block("not there") : allow()),
  execute: ({ path, body }) => ({ path, bytes: body.length }),
});
export const remove = defineTool({
  id: "remove",
  description: "Delete things",
  input: z.object({ ids: z.array(z.string()) }),
  approve: ({ ids }, { identity }) => ask(`Delete ${ids.length} for ${identity.agentId}?`),
  execute: ({ ids }) => ids.length,
});
export const noop = defineTool({ id: "noop", description: "Nothing", input: z.object({}), execute: () => undefined });
export const count = defineTool({
  id: "count",
  description: "Count words",
  input: z.object({ text: z.string() }),
  output: z.object({ words: z.number() }),
  execute: ({ text }) => ({ words: text.split(" ").length }),
});
export const convert = defineTool({
  id: "convert",
  description: "Convert units",
  input: z.object({ value: z.number(), from: z.enum(["km", "mi"]), to: z.enum(["km", "mi"]) }),
  execute: ({ value, from, to }) => (from === to ? value : from === "km" ? value * 0.62 : value / 0.62),
});
export const draw = defineTool({
  id: "draw",
  description: "Draw a shape",
  input: z.object({ shape: z.enum(["circle", "square"]), size: z.number().positive() }),
  execute: ({ shape, size }) => (shape === "circle" ? size * size * Math.PI : size * size),
});
export const remember = defineTool({
  id: "remember",
  description: "Remember a tag",
  input: z.object({ tag: z.string() }),
  execute: ({ tag }) => reply({ tag }, { message: "noted", command: command().update(tags, tag) }),
});
export const order = defineTool({
  id: "order",
  description: "Order goods",
  input: z.object({ skus: z.array(z.string()), quantity: z.number() }),
  timeoutMs: 5_000,
  execute: ({ skus, quantity }) => (skus.length === 0 ? fail("empty", "nothing to order") : reply({ ordered: skus.length * quantity })),
});
export const confirm = defineTool({
  id: "confirm",
  description: "Wait for a person",
  input: z.object({ question: z.string() }),
  execute: ({ question }, { resume }) => (resume === undefined ? wait({ action: "answer", message: question }) : reply(true)),
});
export const charge = defineTool({
  id: "charge",
  description: "Charge a card",
  input: z.object({ cents: z.number().int() }),
  output: z.string(),
  approve: async ({ cents }) => (cents > 10_000 ? ask("That much?") : allow()),
  execute: async ({ cents }, { idempotencyKey }) => `${idempotencyKey}:${cents}`,
  reconcile: ({ cents }) => ({ type: "done", data: String(cents) }),
});
export const spendTool = defineTool({
  id: "spend",
  description: "Look at the budget",
  input: z.object({}),
  execute: (_, { state }) => state.get(spend)?.cents ?? 0,
});
export const translate = defineTool({
  id: "translate",
  description: "Translate",
  input: z.object({ text: z.string(), to: z.enum(["en", "de"]) }),
  output: z.string(),
  execute: ({ text, to }) => `${text} in ${to}`,
});
export const schedule = defineTool({
  id: "schedule",
  description: "Schedule a meeting",
  input: z.object({ at: z.string(), people: z.array(z.string()), room: z.string().nullable() }),
  execute: ({ at, people, room }) => ({ at, people: people.length, room }),
});
export const plot = defineTool({
  id: "plot",
  description: "Plot points",
  input: z.object({ points: z.array(z.tuple([z.number(), z.number()])) }),
  execute: ({ points }) => points.map(([x, y]) => x * y),
});
export const lookup = defineTool({
  id: "lookup",
  description: "Look up settings",
  input: z.object({ keys: z.record(z.string(), z.boolean()) }),
  execute: ({ keys }) => Object.entries(keys).filter(([, on]) => on).length,
});
export const slow = defineTool({
  id: "slow",
  description: "Takes a while",
  input: z.object({ steps: z.number() }),
  async execute({ steps }, { progress, signal }) {
    for (let step = 0; step < steps && !signal.aborted; step++) progress({ progress: step / steps });
    return { steps };
  },
});
export const stream = defineTool({
  id: "stream",
  description: "Streams its output",
  input: z.object({ lines: z.array(z.string()) }),
  execute({ lines }, { output }) {
    for (const line of lines) output(line);
    return lines.length;
  },
});
export const review = defineTool({
  id: "review",
  description: "Review a change",
  input: z.object({ diff: z.string() }),
  output: z.object({ verdict: z.enum(["approve", "reject"]), notes: z.array(z.string()) }),
  execute: ({ diff }) => ({ verdict: diff === "" ? "approve" : "reject", notes: [diff] }),
});
export const hash = defineTool({
  id: "hash",
  description: "Hash a text",
  input: z.object({ text: z.string().min(1).max(100) }),
  kind: "read",
  execute: ({ text }) => text.length,
});
export const parse = defineTool({
  id: "parse",
  description: "Parse a number",
  input: z.object({ text: z.string().transform(Number) }),
  parameters: { type: "object", properties: { text: { type: "string" } } },
  execute: ({ text }) => text + 1,
});
export const ticket = defineTool({
  id: "ticket",
  description: "Open a ticket",
  input: z.object({ title: z.string(), priority: z.enum(["low", "high"]).default("low"), labels: z.array(z.string()).default([]) }),
  category: "support",
  metadata: { team: "help" },
  execute: ({ title, priority, labels }) => `${title} ${priority} ${labels.join()}`,
});
export const rank = defineTool({
  id: "rank",
  description: "Rank candidates",
  input: z.object({ scores: z.record(z.string(), z.number()) }),
  output: z.array(z.string()),
  execute: ({ scores }) => Object.keys(scores).toSorted(),
});
export const toggle = defineTool({
  id: "toggle",
  description: "Toggle a flag",
  input: z.object({ on: z.boolean() }),
  execute: ({ on }) => reply(on, { command: command().update(flag, on).update(counter, 1) }),
});
export const maybe = defineTool({
  id: "maybe",
  description: "Perhaps",
  input: z.object({ value: z.number().nullish() }),
  output: z.number().nullable(),
  approve: ({ value }) => (value == null ? block("nothing there") : allow()),
  execute: ({ value }) => value ?? null,
});

// What inference must give, and what it must refuse.

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(): T | undefined => undefined;

export function assertions(state: StateReader): void {
  const spent = state.get(spend);
  isTrue<Equal<typeof spent, { cents: number } | undefined>>();
  const found = state.get(mode);
  isTrue<Equal<typeof found, "plan" | "act" | "review" | undefined>>();
  const where = state.get(position);
  isTrue<Equal<typeof where, [number, number] | undefined>>();
  const who = state.get(active);
  isTrue<Equal<typeof who, string | null | undefined>>();
  isTrue<Equal<typeof counter, StateKey<number, number>>>();
  isTrue<Equal<typeof spend, StateKey<{ cents: number }, { add: number }>>>();
  isTrue<Equal<typeof weather, Tool>>();

  command().update(spend, { add: 1 }).update(mode, "act").update(todo, { type: "done", id: "1" });
  // @ts-expect-error the update has another shape
  command().update(spend, { cents: 1 });
  // @ts-expect-error a misspelt property
  command().update(spend, { add: 1, addd: 2 });
  // @ts-expect-error not one of the modes
  command().update(mode, "sleep");
  // @ts-expect-error an update is needed
  command().update(counter);
  // @ts-expect-error a name is no key
  state.get("demo.counter");
  // @ts-expect-error a snapshot has no way to write
  state.set?.(counter, 1);

  // @ts-expect-error the initial value does not fit the schema
  defineState("x", { schema: z.number(), initial: () => "0", apply: (value) => value });
  // @ts-expect-error apply gives another type
  defineState("x", { schema: z.number(), initial: () => 0, apply: (value) => String(value) });
  // @ts-expect-error there is no such scope
  defineState("x", { schema: z.number(), initial: () => 0, apply: (value) => value, scope: "global" });

  // @ts-expect-error the input has no such property
  defineTool({ id: "x", description: "", input: z.object({ a: z.number() }), execute: ({ b }) => b });
  // @ts-expect-error the output has another type
  defineTool({ id: "x", description: "", input: z.string(), output: z.number(), execute: () => "one" });
  // @ts-expect-error a property of the output has another type
  defineTool({ id: "x", description: "", input: z.string(), output: z.object({ ok: z.boolean() }), execute: () => ({ ok: "yes" }) });
  // @ts-expect-error approve gives a verdict
  defineTool({ id: "x", description: "", input: z.string(), execute: () => 1, approve: () => true });
}
