import { isJsonObject, type JsonValue } from "@awaken/contract";
import { DEFAULT_BODY_BYTES } from "@awaken/contract/http";
import { afterAll, describe, expect, test } from "vitest";
import { openShared, stopServer } from "../relay/support/nodes.ts";
import { openNode } from "../relay/support/speaker.ts";
import { type Belongings, NAMES, pathTo, routeOf, SAMPLES, takesAnyId, withQuery } from "./support/calls.ts";
import { ask, openServer } from "./support/client.ts";

afterAll(stopServer);

const DEEP = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
const HOSTILE: readonly JsonValue[] = [
  null,
  -1,
  1e308,
  true,
  "",
  " ",
  "\u0000\ud800",
  [],
  [[]],
  {},
  { toString: 1 },
  { valueOf: "x" },
  "x".repeat(10_000),
];

/** The value with one of its parts replaced by something that does not belong there, and with a field too many. */
function* spoiled(value: JsonValue): Generator<JsonValue, void, undefined> {
  yield* HOSTILE;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) for (const part of spoiled(item)) yield value.with(index, part);
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      for (const part of spoiled(value[key] ?? null)) yield { ...value, [key]: part };
      const { [key]: _, ...rest } = value;
      yield rest;
    }
    yield JSON.parse(`{"__proto__":{"isAdmin":true},${JSON.stringify(value).slice(1)}`.replace(",}", "}"));
    yield { ...value, constructor: { prototype: {} }, unknownField: 1 };
  }
}

const QUERIES = [
  "limit=1e9",
  "limit=NaN",
  "limit=1&limit=2",
  "cursor=%00",
  "cursor=thr_e30",
  "__proto__=1",
  "status=nope",
  "x=%ff%fe",
  `cursor=${"x".repeat(9_000)}`,
  "from=never",
];
/** What is no id of anything. */
const NO_IDS = ["%20", "%00", "x".repeat(600)];
const IDS = [...NO_IDS, "..%2f..%2fetc", "%ff", "__proto__", "constructor", "'%20OR%201=1--"];

describe.each(["memory", "sqlite"] as const)("hostile input on %s", (engine) => {
  test("server-and-durability 81: every route, fuzzed from its schema, answers with a 4xx and a code, and nothing has happened", async () => {
    await using shared = await openShared(engine);
    const [store] = shared.stores;
    await using runtime = openNode(store, { workers: false });
    const server = openServer({ runtime });
    const first = await runtime.run({ agent: "assistant", thread: "t", input: "approve" });
    const [ticket] = first.status === "waiting" ? first.tickets : expect.fail();
    const { messageIds } = await runtime.send("t", "say", { mode: "queue" });
    const has: Belongings = { thread: "t", run: first.runId, ticket: ticket?.id ?? "", pending: messageIds[0] ?? "" };
    const counts = async () => {
      const { bytes: _, ...rows } = await store.stats();
      return rows;
    };
    const before = await counts();
    let asked = 0;
    for (const name of NAMES) {
      const route = routeOf(name);
      const sample = SAMPLES[name];
      const path = pathTo(name, has);
      const send = async (body: unknown, query = sample.query, to = path, headers: Readonly<Record<string, string>> = {}) => {
        asked += 1;
        const sent = body === undefined ? {} : { body };
        const reply = await ask(server, route.method, withQuery(to, query === undefined ? {} : { query }), {
          ...sent,
          headers: { ...sample.headers, ...headers },
        });
        const said = `${name} ${query ?? ""} ${JSON.stringify(body)?.slice(0, 200)}: ${JSON.stringify(reply.body).slice(0, 300)}`;
        expect(reply.status, said).toBeGreaterThanOrEqual(400);
        expect(reply.status, said).toBeLessThan(500);
        expect(reply.body, said).toEqual({ error: expect.any(String), code: expect.stringMatching(/^[a-z_]+$/) });
        expect(JSON.stringify(reply.body), said).not.toMatch(/node_modules|\.ts:|at async/);
      };
      if (route.body !== undefined) {
        for (const body of spoiled(JSON.parse(JSON.stringify(sample.body)))) {
          // What the schema takes is no mistake.
          if ("issues" in route.body["~standard"].validate(body)) await send(JSON.stringify(body));
        }
        for (const body of ["", "{", '{"a":', "undefined", "\u0000", DEEP, `{"title":${DEEP}}`]) await send(body);
        await send(sample.body, sample.query, path, { "content-type": "text/plain" });
        await send(" ".repeat((route.maxBodyBytes ?? DEFAULT_BODY_BYTES) + 1));
        const bytes = new Request(`http://localhost${path}`, {
          method: route.method,
          body: new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]),
          headers: { "content-type": "application/json", ...sample.headers },
        });
        expect((await server.fetch(bytes)).status, `${name} with broken UTF-8`).toBe(400);
      }
      if (route.query !== undefined) {
        for (const query of QUERIES) {
          const read = Object.fromEntries(new URLSearchParams(query));
          if ("issues" in route.query["~standard"].validate(read) || query.includes("&")) await send(sample.body, query);
        }
      }
      if (route.path.includes(":"))
        for (const id of takesAnyId(name) ? NO_IDS : IDS) await send(sample.body, sample.query, pathTo(name, has, id));
    }
    expect(asked).toBeGreaterThan(1_000);
    expect(await counts()).toEqual(before);
    expect(Object.hasOwn(Object.prototype, "isAdmin")).toBe(false);
    expect(await runtime.decide(has.ticket, { action: "approve" }).then((run) => run.result)).toMatchObject({ status: "done" });
  });
});

/** What a server says when the fault is its own. */
const FAILED = /something went wrong in the server|the store does not answer/;

/** What pages of both protocols may send, with all that is read of it. */
const PAGES = {
  aiSdkChat: {
    id: "own",
    agentId: "assistant",
    trigger: "submit-message",
    messageId: "u",
    messages: [
      {
        id: "a",
        role: "assistant",
        parts: [{ type: "tool-x", toolCallId: "c", state: "approval-responded", input: {}, approval: { id: "k", approved: true } }],
      },
      {
        id: "u",
        role: "user",
        parts: [
          { type: "text", text: "say" },
          { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" },
        ],
      },
    ],
    tools: [{ name: "x", description: "d", parameters: { type: "object" } }],
    state: { a: 1 },
    sdk: 7,
  },
  agUiRun: {
    threadId: "own",
    runId: "r",
    agentId: "assistant",
    protocolVersion: "1.0",
    messages: [
      { id: "a", role: "assistant", toolCalls: [{ id: "c", type: "function", function: { name: "x", arguments: "{}" } }] },
      { id: "t", role: "tool", toolCallId: "c", content: "1" },
      { id: "u", role: "user", content: [{ type: "image", source: { type: "data", value: "AAAA", mimeType: "image/png" } }] },
    ],
    resume: [{ interruptId: "k", status: "resolved", payload: { approved: true } }],
    tools: [{ name: "x", description: "d", parameters: { type: "object" } }],
    context: [{ description: "d", value: "v" }],
    state: { a: 1 },
    forwardedProps: { a: 1 },
  },
} as const;

test.each(["aiSdkChat", "agUiRun"] as const)(
  "%s: whatever a page sends that its schema lets through is answered or refused, and no fault of the server",
  async (name) => {
    await using shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0], { workers: false });
    const server = openServer({ runtime });
    const route = routeOf(name);
    const statuses = new Set<number>();
    for (const body of spoiled(JSON.parse(JSON.stringify(PAGES[name])))) {
      if (route.body === undefined || "issues" in route.body["~standard"].validate(body)) continue;
      const reply = await ask(server, "POST", route.path, { body: JSON.stringify(body) });
      statuses.add(reply.status);
      const said = `${JSON.stringify(body).slice(0, 900)}: ${JSON.stringify(reply.body).slice(0, 300)}`;
      expect(reply.status, said).toBeLessThan(500);
      expect(JSON.stringify(reply.body), said).not.toMatch(FAILED);
    }
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400]));
  },
);

/** Words that are JSON, and that databases have no place for. */
const UNSTORABLE = ["a\u0000b", "\ud800", "\udc00x"];

/** The value with one of its words replaced. */
function* worded(value: JsonValue): Generator<JsonValue, void, undefined> {
  if (typeof value === "string") yield* UNSTORABLE;
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) for (const part of worded(item)) yield value.with(index, part);
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) for (const part of worded(value[key] ?? null)) yield { ...value, [key]: part };
  }
}

test.each(["memory", "sqlite"] as const)(
  "a thread is named in a body as it is in a path: what no path can say is no id there either, and makes nothing, on %s",
  async (engine) => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0], { workers: false });
    const server = openServer({ runtime });
    const makers = { createThread: "id", startRun: "threadId", streamRun: "threadId", aiSdkChat: "id", agUiRun: "threadId" } as const;
    for (const id of ["a\u0000b", "\ud800", "x\udc00", "x".repeat(600)]) {
      for (const name of ["createThread", "startRun", "streamRun", "aiSdkChat", "agUiRun"] as const) {
        const { method, path } = routeOf(name);
        const reply = await ask(server, method, path, { body: { ...Object(SAMPLES[name].body), [makers[name]]: id } });
        expect(reply, `${name} ${JSON.stringify(id)}`).toMatchObject({ status: 400, body: { code: "invalid_id" } });
      }
    }
    expect(await shared.stores[0].threads.count({})).toBe(0);
  },
);

test.each(["sqlite", "postgres"] as const)(
  "words and ids that a database does not take are the caller's to mend, or taken: never a failure of the server, on %s",
  async (engine) => {
    await using shared = await openShared(engine);
    const [store] = shared.stores;
    await using runtime = openNode(store, { workers: false });
    const server = openServer({ runtime });
    const first = await runtime.run({ agent: "assistant", thread: "t", input: "approve" });
    const [ticket] = first.status === "waiting" ? first.tickets : expect.fail();
    const has: Belongings = { thread: "t", run: first.runId, ticket: ticket?.id ?? "", pending: "none" };
    for (const name of NAMES) {
      const route = routeOf(name);
      const sample = SAMPLES[name];
      const path = withQuery(pathTo(name, has), sample);
      const send = async (to: string, body: unknown) => {
        const reply = await ask(server, route.method, to, {
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          ...(sample.headers && { headers: sample.headers }),
        });
        const said = `${name} ${to} ${JSON.stringify(body)}: ${JSON.stringify(reply.body).slice(0, 300)}`;
        expect(reply.status, said).toBeLessThan(500);
        // Streams say it in a frame.
        expect(JSON.stringify(reply.body), said).not.toMatch(FAILED);
        if (reply.status >= 400) expect(reply.body, said).toEqual({ error: expect.any(String), code: expect.stringMatching(/^[a-z_]+$/) });
      };
      if (route.body !== undefined) for (const body of worded(JSON.parse(JSON.stringify(sample.body)))) await send(path, body);
      if (route.path.includes(":")) for (const id of IDS) await send(withQuery(pathTo(name, has, id), sample), sample.body);
    }
    expect((await store.runs.load(first.runId))?.runId).toBe(first.runId);
  },
);

test.each(["sqlite", "postgres"] as const)(
  "what no record can have is no query, and is refused alike on every engine: %s",
  async (engine) => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    const server = openServer({ runtime });
    for (const path of ["/v1/threads?resourceId=a%00b", "/v1/threads?parentThreadId=%00", "/v1/threads/summaries?resourceId=%00"]) {
      const { status, body } = await ask(server, "GET", path);
      expect([status, body["code"]], path).toEqual([400, "invalid_query"]);
    }
  },
);
