import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { messageId, ticketId, toolCallId } from "../ids.ts";
import { isJson, sameJson } from "../json.ts";
import type { Type } from "../schema/type.ts";
import { type Schema, validateSync } from "../schema.ts";
import { draftSchema } from "./event-records.ts";
import type { EventDraft } from "./events.ts";
import { claimEffect, entrySchema, settleEffect } from "./ledger.ts";
import { messageSchema } from "./message-schema.ts";
import { persistedStateSchema } from "./record-pieces.ts";
import { projectionSchema, runProjection, storedSchema } from "./run-schema.ts";
import { assistant, created, fullRun, R1, result, retraction, runs, summary, T1, ticket, user } from "./test-records.ts";
import { threadSchema } from "./thread.ts";
import { rowSchema } from "./thread-rows.ts";

/** What `fits` has to say: the schema gives the value back unchanged. */
function isTaken(schema: Schema, value: unknown): boolean {
  if (!isJson(value)) return false;
  const taken = validateSync(schema, value);
  return taken.type === "valid" && sameJson(taken.value, value);
}

const part = { providerMetadata: { openai: { id: "x" } } };
const source = { type: "base64", mediaType: "image/png", data: "AA==" } as const;
const full = {
  ...assistant("m1"),
  visibility: "internal",
  metadata: { runId: R1, stepIndex: 0, senderAgentId: "a", compaction: { fromSeq: 1, toSeq: 2 } },
  content: [
    { type: "text", text: "hi", ...part },
    { type: "reasoning", text: "hm", signature: "s", ...part },
    { type: "image", source, ...part },
    { type: "audio", source: { type: "url", url: "https://x.test/a" } },
    { type: "video", source: { type: "url", url: "https://x.test/v", mediaType: "video/mp4" } },
    { type: "document", source, title: "d" },
    { type: "tool-call", id: toolCallId("c1"), name: "tool", input: { a: [1, null, true, "x"] } },
    { type: "tool-call", id: toolCallId("c2"), name: "search", input: null, executed: "provider" },
    { type: "tool-result", id: toolCallId("c2"), name: "search", output: [], isError: true },
  ],
};
const many = assistant(
  "m2",
  Array.from({ length: 20 }, (_, index) => `c${index}`),
);
const messages = [
  full,
  many,
  user("u"),
  assistant("a", ["c1", "c2"]),
  { ...result("t", "c1"), metadata: { runId: R1 } },
  retraction("r", "c1"),
  summary("s", { fromSeq: 1, toSeq: 9 }),
];

const terminations = [
  { type: "natural-end" },
  { type: "behavior-requested" },
  { type: "stopped", code: "max-steps", detail: "x" },
  { type: "cancelled" },
  { type: "blocked", reason: "no" },
  { type: "error", message: "boom", code: "x" },
] as const;
const endings = terminations.map((termination) => ({
  ...runs.done(),
  startedAt: 3,
  outcome: { termination, response: "", output: { a: [] } },
}));
const twoTickets = { ...runs.waiting(), waiting: { reason: "suspended", tickets: [ticket, { ...ticket, id: ticketId("tk2") }] } };
const allRuns = [created, fullRun, twoTickets, ...Object.values(runs).map((make) => make()), ...endings];

const draft: EventDraft = { schemaVersion: 1, threadId: T1, kind: "run-queued", payload: { a: [1] }, visibility: "public", origin: "loop" };
const { threadId: _, ...nowhere } = draft;
const drafts = [draft, { ...draft, runId: R1, causationId: "c", correlationId: "x" }, { ...nowhere, runId: R1, visibility: "sensitive" }];

const claim = {
  idempotencyKey: "k",
  attempt: 1,
  messageId: messageId("m"),
  toolCallId: toolCallId("c"),
  toolName: "t",
  step: 0,
  input: { a: 1 },
};
const claimed = claimEffect(undefined, claim, { threadId: T1, runId: R1, now: 5 });
const settle = (outcome: Parameters<typeof settleEffect>[1]["result"]) =>
  settleEffect(claimed, { idempotencyKey: "k", attempt: 1, result: outcome }, 9);
const entries = [
  claimed,
  settle({ type: "success", data: [1], message: "m", metadata: {}, media: [{ type: "image", source }] }),
  settle({ type: "error", code: "timeout", message: "late", data: null, metadata: {} }),
  settle({
    type: "pending",
    message: "m",
    suspension: { action: "approve", message: "?", parameters: 1, responseSchema: {}, resumeMode: "replay-tool-call" },
  }),
];

const states = [
  { schemaVersion: 1, revision: 0, extensions: {} },
  { schemaVersion: 1, revision: 7, extensions: { "a.b": { c: [null] } }, versions: { "a.b": 2 } },
];

const rows = messages.map((message, index) => ({ schemaVersion: 1, threadId: T1, seq: index + 10, createdAt: 1, message }));
const thread = { schemaVersion: 1, id: T1, metadata: { createdAt: 1, updatedAt: 2, custom: {} } };
const threads = [
  thread,
  {
    ...thread,
    metadata: { ...thread.metadata, title: "", custom: { a: [1] } },
    ...{ resourceId: "x", parentThreadId: "t0", activeRunId: R1, openRunId: R1, latestRun: { id: R1, updatedAt: 3, ordinal: 1 } },
  },
];

const KINDS: readonly (readonly [string, Type, readonly unknown[]])[] = [
  ["messages", messageSchema, messages],
  ["rows of the log", rowSchema, rows],
  ["threads", threadSchema, threads],
  ["runs", projectionSchema, allRuns],
  ["stored runs", storedSchema, [created, runs.created()]],
  ["thread states", persistedStateSchema, states],
  ["event drafts", draftSchema, drafts],
  ["ledger entries", entrySchema, entries],
];

class Point {
  readonly x = 1;
}
const nested = (levels: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
};
const JUNK: readonly unknown[] = [
  ...[null, undefined, true, false, 0, -0, 1, -1, 2, 1.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, 1n, Symbol.iterator],
  ...["", " ", "\t\u00a0", "x", "internal", "provider", "running", "done", "suspended", "tool", "user", "text", "error", "success"],
  ...[
    [],
    {},
    [undefined],
    new Array(2),
    [1],
    { a: 1 },
    { a: undefined },
    { type: "text", text: "x" },
    { budget: 3 },
    { fromSeq: 2, toSeq: 1 },
  ],
  ...[new Date(0), new Map(), new Point(), Object.create(null), Object.create({ id: "x" }), () => 1, { toJSON: () => 1 }],
  ...[JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":3}')],
];
/** Around the depth that JSON of ours may have, seen from inside a record. */
const DEEP: readonly unknown[] = [505, 508, 510, 511, 512, 513, 514, 600].map(nested);
const KEYS = [
  "__proto__",
  "toJSON",
  "constructor",
  "extra",
  "type",
  "role",
  "status",
  "id",
  "toolCallId",
  "ordinal",
  "runId",
  "metadata",
  "compaction",
  "code",
];

const ADDED: readonly unknown[] = [...["x", 1, null, {}, [], undefined, { fromSeq: 1, toSeq: 1 }], () => 1];

interface Corruption {
  readonly at: number;
  readonly how: "replace" | "remove" | "add" | "repeat" | "move";
  readonly junk: unknown;
  readonly key: string;
}
const corruption: fc.Arbitrary<Corruption> = fc.record({
  at: fc.nat(400),
  how: fc.constantFrom("replace", "remove", "add", "repeat", "move"),
  junk: fc.oneof(fc.constantFrom(...JUNK, ...DEEP), fc.anything({ maxDepth: 2 })),
  key: fc.constantFrom(...KEYS),
});

/** A deep copy; what is neither a list nor a plain object stays as it is. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    const list: unknown[] = new Array(value.length);
    for (let index = 0; index < value.length; index++) if (index in value) list[index] = copyOf(value[index]);
    return list;
  }
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const copy: object = {};
  for (const [key, item] of Object.entries(value)) define(copy, key, copyOf(item));
  return copy;
}

const define = (target: object, key: string, value: unknown) =>
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });

/** Every place of a value: the object and the key in it. */
function placesOf(value: unknown, found: (readonly [object, string])[] = [], depth = 0): readonly (readonly [object, string])[] {
  if (typeof value !== "object" || value === null || depth > 12) return found;
  for (const [key, item] of Object.entries(value)) {
    found.push([value, key]);
    placesOf(item, found, depth + 1);
  }
  return found;
}

function corrupt(record: unknown, { at, how, junk, key }: Corruption): unknown {
  const places = placesOf(record);
  const place = places[at % Math.max(places.length, 1)];
  if (place === undefined) return copyOf(junk);
  const [object, own] = place;
  const other = places[(at * 7 + 3) % places.length];
  switch (how) {
    case "replace":
      define(object, own, copyOf(junk));
      break;
    case "remove":
      Reflect.deleteProperty(object, own);
      break;
    case "add":
      define(object, key, copyOf(junk));
      break;
    case "repeat":
      if (Array.isArray(object)) object.push(object[Number(own)]);
      else define(object, own, [Reflect.get(object, own)]);
      break;
    case "move":
      if (other !== undefined) define(object, own, copyOf(Reflect.get(other[0], other[1])));
  }
  return record;
}

/** Everything that stands somewhere in the records, once. */
function piecesOf(records: readonly unknown[]): readonly unknown[] {
  const pieces = new Map<string, unknown>();
  for (const [object, key] of records.flatMap((record) => placesOf(record))) {
    const piece: unknown = Reflect.get(object, key);
    pieces.set(JSON.stringify(piece), piece);
  }
  return [...pieces.values()];
}

/** Every copy of the record that differs from it at one place. */
function* damagesOf(record: unknown, junk: readonly unknown[]): Iterable<unknown> {
  const copy = copyOf(record);
  const places = placesOf(copy);
  for (const [object, key] of places) {
    const kept: unknown = Reflect.get(object, key);
    for (const piece of junk) {
      define(object, key, piece);
      yield copy;
    }
    Reflect.deleteProperty(object, key);
    yield copy;
    define(object, key, kept);
  }
  for (const object of new Set(places.map(([owner]) => owner))) {
    for (const key of KEYS.filter((added) => !Object.hasOwn(object, added))) {
      for (const piece of ADDED) {
        define(object, key, piece);
        yield copy;
      }
      Reflect.deleteProperty(object, key);
    }
  }
}

describe.each(KINDS)("%s", (_name, schema, records) => {
  const { fits } = schema;
  const expectAgreement = (value: unknown) => {
    // Compared without `expect`, which is slow: this is asked some hundred thousand times.
    if (fits(value, 0) !== isTaken(schema, value)) expect.fail(`fits says ${fits(value, 0)} to ${inspect(value)}`);
  };

  test("fit when they are valid", () => {
    const valid = records.filter((record) => isTaken(schema, record));
    expect(valid.length).toBeGreaterThan(0);
    for (const record of valid) expect(fits(record, 0)).toBe(true);
  });

  test("fit exactly when the schema gives them back unchanged, whichever place is damaged", () => {
    const junk = [...JUNK, ...piecesOf(records)];
    for (const value of [...junk, ...DEEP]) expectAgreement(value);
    for (const record of records) for (const damaged of damagesOf(record, junk)) expectAgreement(damaged);
  });

  test("fit exactly when the schema gives them back unchanged, however much is damaged", () => {
    fc.assert(
      fc.property(fc.constantFrom(...records), fc.array(corruption, { maxLength: 3 }), (record, corruptions) => {
        expectAgreement(corruptions.reduce(corrupt, copyOf(record)));
      }),
      { numRuns: 3_000 },
    );
  });
});

test("a record that only the schema takes is still taken, as the schema gives it back", () => {
  const loose = { ...runs.done(), outcome: { termination: { type: "natural-end", note: "x" }, response: "" } };
  expect(projectionSchema.fits(loose, 0)).toBe(false);
  expect(runProjection.check(loose)).toEqual({ ...loose, outcome: { termination: { type: "natural-end" }, response: "" } });
});
