import { getEventListeners, once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { inspect } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createClient } from "./client.ts";
import {
  answering,
  bytes,
  noThread,
  played,
  refusing,
  streaming,
  type Turn,
  unreachable,
  useFakeTime,
} from "./scripted-server.test-support.ts";

test("nothing is what some routes answer with, and no answer of the others", async () => {
  const { client } = answering([() => new Response(null, { status: 204 })]);
  expect(await client.threads.delete("t")).toBeUndefined();
  expect(await client.pending.retract("t", "m", 1)).toBeUndefined();
  await expect(client.threads.create()).rejects.toMatchObject({ code: "server_unreachable" });
});

async function listening(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url, [Symbol.asyncDispose]: close };
}

test("a server that says that it is elsewhere is not followed there: no key and no word goes to another one, and the error names it", async () => {
  const seen: IncomingMessage[] = [];
  await using other = await listening((request, response) => {
    seen.push(request);
    response.end("{}");
  });
  for (const status of [301, 302, 303, 307, 308]) {
    await using server = await listening((_, response) => response.writeHead(status, { location: `${other.url}/in?key=1` }).end());
    const client = createClient({ url: server.url, token: "s3cret", headers: { "x-api-key": "s3cret" } });
    const tries = [
      () => client.run({ input: "hi" }),
      () => client.threads.load("t"),
      () => client.send("t", "hi"),
      () => Array.fromAsync(client.attach("t")),
    ];
    for (const tried of tries) {
      const refused: unknown = await tried().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(refused).toMatchObject({ code: "internal", details: { status }, message: expect.stringContaining(`${other.url}. Give`) });
    }
  }
  expect(seen).toEqual([]);
});

test("no error has a key in it", async () => {
  const wrong = { url: "http://localhost" };
  expect(() => createClient({ url: "http://ana:s3cret@localhost" })).toThrow(expect.not.stringContaining("s3cret"));
  expect(() => createClient({ url: "http://ana:s3cret@" })).toThrow(expect.not.stringContaining("s3cret"));
  for (const value of ["s3cret\nx", "s3cret\u20ac"]) {
    expect(() => createClient({ ...wrong, headers: { "x-api-key": value } })).toThrow(/^the header 'x-api-key' (?!.*s3cret)/);
    for (const token of [value, () => value]) {
      const refused: unknown = await createClient({ ...wrong, token })
        .threads.load("t")
        .then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
      expect(refused).toMatchObject({ code: "invalid_activation" });
      expect(String(refused)).not.toContain("s3cret");
    }
  }
  // As it is read from a file.
  const sent: (string | null)[] = [];
  const fetch = async ({ headers }: Request) => {
    sent.push(headers.get("authorization"));
    return Response.json({});
  };
  await createClient({ ...wrong, token: "s3cret\n", fetch }).threads.load("t");
  expect(sent).toEqual(["Bearer s3cret"]);
});

test("a path is kept, and what stands behind it is not taken for one", async () => {
  for (const url of ["http://localhost/api", "http://localhost/api/", "http://localhost/api?x=1#y"]) {
    const { client, asked } = answering([() => Response.json({})], { url });
    await client.threads.load("a/b c");
    expect(asked).toEqual(["GET /api/v1/threads/a%2Fb%20c"]);
  }
});

describe("with time in hand", () => {
  afterEach(() => {
    const left = vi.getTimerCount();
    vi.useRealTimers();
    expect(left, "timers that are left").toBe(0);
  });

  const silent: Turn = ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const stalled: Turn = ({ signal }) =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(bytes('{"id":'));
          signal.addEventListener("abort", () => controller.error(signal.reason));
        },
      }),
    );

  test("a server that takes what is asked and never answers, or not to the end, counts as unreachable", async () => {
    useFakeTime();
    for (const turn of [silent, stalled]) {
      const { client, asked } = answering([turn], { timeoutMs: 9_000 });
      const created = await played(client.threads.create().catch((thrown: unknown) => thrown));
      expect(created.value).toMatchObject({ code: "server_unreachable" });
      expect(created.ms).toBe(9_000);
      expect(asked).toHaveLength(1);
      const loaded = answering([turn, () => Response.json({ id: "t" })]);
      expect(await played(loaded.client.threads.load("t"))).toMatchObject({ value: { id: "t" } });
    }
  });

  test("a run whose stream breaks off before anybody reads it has its result", async () => {
    useFakeTime();
    const begun = { "x-run-id": "r", "x-thread-id": "t" };
    const broken: Turn = () => {
      const body = new ReadableStream({ start: (controller) => controller.error(new TypeError("terminated")) });
      return new Response(body, { headers: { "content-type": "text/event-stream", ...begun } });
    };
    const { client } = answering([broken, () => Response.json({ status: "done", text: "hi" })]);
    expect((await played(client.run({ input: "hi" }))).value).toMatchObject({ status: "done", text: "hi" });
  });

  const frames = [
    'data: {"type":"text-delta","delta":"a"}\n\n',
    'id: c\ndata: {"type":"run-end","runId":"r","result":{"status":"waiting"}}\n\n',
    'id: d\ndata: {"type":"run-end","runId":"r","result":{"status":"done"}}\n\n',
  ].map(bytes);
  const busy = refusing(503, { error: "busy", code: "server_busy" });
  const begun = { "x-run-id": "r", "x-thread-id": "t" };
  const late = refusing(504, { error: "not yet", code: "timeout" });
  const done: Turn = () => Response.json({ status: "done" });

  test.each([
    ["attach", [noThread, streaming(frames.slice(0, 2), "break"), unreachable, busy, streaming(frames)]],
    ["stream", [busy, streaming(frames.slice(0, 1), "break", begun), busy, streaming(frames)]],
    ["wait", [unreachable, late, done]],
  ] as const)("an abort at any moment of %s ends it, and leaves neither a timer nor a listener", async (verb, turns) => {
    useFakeTime();
    let isThrough = false;
    for (let moment = 0; !isThrough && moment < 2_000; moment++) {
      const leaving = new AbortController();
      const { signal } = leaving;
      const { client } = answering(turns, { token: async () => "key" });
      const verbs = {
        attach: () => Array.fromAsync(client.attach("r", { signal })),
        stream: () => Array.fromAsync(client.stream({ input: "hi", signal })),
        wait: () => client.wait("r", { signal }),
      };
      const work: Promise<unknown> = verbs[verb]().then(
        () => {
          isThrough ||= !signal.aborted;
        },
        (thrown: unknown) => expect(thrown, "what it was aborted with").toBe(signal.reason),
      );
      for (let at = 0; at < moment; at++) {
        if (at % 20 === 19) await vi.advanceTimersByTimeAsync(300);
        else await null;
      }
      leaving.abort();
      await work;
      await new Promise((resolve) => setImmediate(resolve));
      expect([vi.getTimerCount(), getEventListeners(signal, "abort").length], `at ${moment}`).toEqual([0, 0]);
    }
    expect(isThrough, "it came to its end without an abort").toBe(true);
  });
});

test.each([0, -1, Number.NaN])("no time at all for answers is refused: %s", (timeoutMs) => {
  const refused = expect.objectContaining({ code: "invalid_activation", message: expect.stringContaining("timeoutMs") });
  expect(() => createClient({ url: "http://localhost", timeoutMs })).toThrow(refused);
});

test("what somebody between quotes of a request has neither its key nor the caller's headers, also in words that look like ours", async () => {
  const secrets = { token: "s3cret-k3y", headers: { "x-api-key": "an0ther-k3y" } };
  const quote: Turn = ({ headers }) => new Response(`bad gateway for ${JSON.stringify([...headers])}`, { status: 404 });
  const ours: Turn = ({ headers }) =>
    Response.json({ error: `no thread for ${headers.get("authorization")}`, code: "thread_not_found" }, { status: 404 });
  for (const turn of [quote, ours]) {
    const thrown: unknown = await answering([turn], secrets)
      .client.threads.load("t")
      .catch((refused: unknown) => refused);
    expect(String(thrown)).toMatch(/bad gateway for|no thread for Bearer …/);
    expect(inspect(thrown, { depth: 9 })).not.toMatch(/k3y/);
  }
});
