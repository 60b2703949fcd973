import type { InferenceFailureType } from "@awaken/contract";
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collect, failing, never, request, textOf, user } from "./testing/requests.ts";
import { VENDORS, vendorCase } from "./testing/vendors.ts";
import { fail, frames, openWire, SSE, soon, sse } from "./testing/wire.ts";

const error = (message: string, type = "server_error") => ({ type: "error", error: { message, type, status: "UNKNOWN", code: null } });

describe.each(VENDORS)("$vendor: errors by status", ({ provider, model }) => {
  const statuses: [number, InferenceFailureType][] = [
    [400, "invalid-request"],
    [401, "unauthorized"],
    [403, "unauthorized"],
    [404, "model-not-found"],
    [408, "timeout"],
    [413, "context-overflow"],
    [422, "invalid-request"],
    [429, "rate-limited"],
    [500, "provider"],
    [502, "provider"],
    [503, "overloaded"],
    [504, "timeout"],
    [529, "overloaded"],
  ];

  test.each(statuses)("%i is %s", async (status, type) => {
    await using wire = await openWire((response) => fail(response, status, error("no luck")));
    const failed = await failing(provider(wire.url), { model });
    expect(failed.error.failure).toEqual({ type, message: "no luck" });
    expect(wire.requests).toHaveLength(1);
  });

  test("inference 7: 429 with Retry-After 5 is rate limited for 5 s; a date gives no hint", async () => {
    const values = ["5", "Wed, 21 Oct 2026 07:28:00 GMT"];
    await using wire = await openWire((response) => fail(response, 429, error("slow down"), { "retry-after": values.shift() ?? "" }));
    const seconds = await failing(provider(wire.url), { model });
    expect(seconds.error.failure).toEqual({ type: "rate-limited", message: "slow down", retryAfterMs: 5000 });
    const date = await failing(provider(wire.url), { model });
    expect(date.error.failure).toEqual({ type: "rate-limited", message: "slow down" });
  });

  test("inference 8: 400 about the prompt's length is a context overflow", async () => {
    await using wire = await openWire((response) => fail(response, 400, error("Prompt is too long: 300000 tokens > 200000 maximum")));
    expect((await failing(provider(wire.url), { model })).error.failure.type).toBe("context-overflow");
  });

  test("an answer that is not the vendor's (a proxy's HTML page) is classified by its status", async () => {
    await using wire = await openWire((response) => {
      response.writeHead(503, { "content-type": "text/html", "retry-after": "7" }).end("<h1>Service Unavailable</h1>");
    });
    const { failure } = (await failing(provider(wire.url), { model })).error;
    expect(failure).toMatchObject({ type: "overloaded", retryAfterMs: 7000 });
  });

  test("a server that is not there is a transient provider error", async () => {
    const wire = await openWire(() => undefined);
    await wire[Symbol.asyncDispose]();
    const { error: refused } = await failing(provider(wire.url), { model });
    expect(refused.failure.type).toBe("provider");
    expect(refused.failure.message).toMatch(/ECONNREFUSED/);
  });
});

describe("errors by aimock", () => {
  const mock = new LLMock({ port: 0, host: "127.0.0.1" });
  beforeAll(async () => {
    mock.onMessage("limit me", { error: { message: "slow down", type: "rate_limit_error" }, status: 429, retryAfter: 3 });
    await mock.start();
  });
  afterAll(() => mock.stop());

  test.each(VENDORS)("$vendor: 429 with Retry-After", async ({ provider, model }) => {
    const { failure } = (await failing(provider(mock.url), { model, messages: [user("limit me")] })).error;
    expect(failure).toEqual({ type: "rate-limited", message: "slow down", retryAfterMs: 3000 });
  });

  test.each(VENDORS)("$vendor: no fixture is a 404", async ({ provider, model }) => {
    const { failure } = (await failing(provider(mock.url), { model, messages: [user("unheard of")] })).error;
    expect(failure.type).toBe("model-not-found");
  });
});

describe.each(VENDORS)("$vendor: streams that do not end well", ({ provider, model, opening, closing }) => {
  test("the frames of these tests make an answer", async () => {
    await using wire = await openWire((response) => sse(response, ...opening, ...closing));
    const parts = await collect(provider(wire.url), { model });
    expect(textOf(parts)).toBe("Hel");
    expect(parts.slice(-2)).toMatchObject([
      { type: "usage", usage: { inputTokens: 3, outputTokens: 4 } },
      { type: "stop", reason: "end-turn" },
    ]);
  });

  test("a connection cut midway is transient, after what came before it", async () => {
    await using wire = await openWire((response) => {
      response.writeHead(200, SSE).write(frames(...opening), () => setTimeout(() => response.destroy(), 20));
    });
    const { error: cut, parts } = await failing(provider(wire.url), { model });
    expect(textOf(parts)).toBe("Hel");
    expect(cut.isTransient).toBe(true);
    expect(cut.failure.type).toBe("provider");
  });

  test("a body that ends in order but without the vendor's last word is an interruption", async () => {
    await using wire = await openWire((response) => sse(response, ...opening));
    const { error: cut, parts } = await failing(provider(wire.url), { model });
    expect(textOf(parts)).toBe("Hel");
    expect(cut.isTransient).toBe(true);
    expect(cut.failure.message).toMatch(/^connection reset$|without a finish reason/);
  });

  test("an empty body is no answer", async () => {
    await using wire = await openWire((response) => sse(response));
    expect((await failing(provider(wire.url), { model })).error.isTransient).toBe(true);
  });

  test("a malformed frame is a transient provider error, whatever words it holds", async () => {
    await using wire = await openWire((response) => {
      response.writeHead(200, SSE).end(`${frames(...opening)}data: {"content_filter": overloaded rate limit\n\n${frames(...closing)}`);
    });
    const { error: malformed, parts } = await failing(provider(wire.url), { model });
    expect(textOf(parts)).toBe("Hel");
    expect(malformed.failure.type).toBe("provider");
  });

  test("cancelling midway ends the wait and closes the connection", async () => {
    await using wire = await openWire((response) => void response.writeHead(200, SSE).write(frames(...opening)));
    const cancel = new AbortController();
    const parts = (await provider(wire.url).stream(request({ model }), { signal: cancel.signal }))[Symbol.asyncIterator]();
    const seen: string[] = [];
    while (!seen.includes("text-delta")) seen.push((await parts.next()).value?.type ?? "end");
    const waiting = parts.next();
    cancel.abort();
    await expect(soon(waiting)).rejects.toMatchObject({ failure: { type: "cancelled", message: "cancelled" } });
    expect(await wire.clientLeaves()).toBe(true);
  });

  test("leaving the loop early closes the connection", async () => {
    await using wire = await openWire((response) => void response.writeHead(200, SSE).write(frames(...opening)));
    for await (const part of await provider(wire.url).stream(request({ model }), { signal: never })) {
      if (part.type === "text-delta") break;
    }
    expect(await wire.clientLeaves()).toBe(true);
  });

  test("leaving before the first part closes the connection", async () => {
    await using wire = await openWire((response) => void response.writeHead(200, SSE).write(frames(...opening)));
    const stream = await provider(wire.url).stream(request({ model }), { signal: never });
    await stream[Symbol.asyncIterator]().return?.();
    expect(await wire.clientLeaves()).toBe(true);
  });

  test("cancelling while it opens ends the wait and closes the connection", async () => {
    const cancel = new AbortController();
    await using wire = await openWire(() => cancel.abort());
    const { error: cancelled } = await soon(failing(provider(wire.url), { model }, cancel.signal));
    expect(cancelled.failure.type).toBe("cancelled");
    expect(await wire.clientLeaves()).toBe(true);
  });

  test("a finished answer leaves its connection to the next call", async () => {
    const ports: (number | undefined)[] = [];
    await using wire = await openWire((response) => {
      ports.push(response.socket?.remotePort);
      sse(response, ...opening, ...closing);
    });
    for (let call = 0; call < 3; call++) await collect(provider(wire.url), { model });
    expect(ports).toHaveLength(3);
    expect(new Set(ports).size).toBeLessThan(3); // the client may open a second one while the first is being given back
  });
});

describe("errors inside a stream", () => {
  const cases: [string, object, InferenceFailureType][] = [
    ["anthropic", { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "overloaded"],
    ["anthropic", { type: "error", error: { type: "permission_error", message: "not yours" } }, "unauthorized"],
    [
      "openai",
      { type: "error", sequence_number: 1, error: { type: "rate_limit", code: "rate_limit_exceeded", message: "slow" } },
      "rate-limited",
    ],
    ["google", { error: { code: 403, status: "PERMISSION_DENIED", message: "not yours" } }, "unauthorized"],
    ["openai-compatible", { error: { message: "context_length_exceeded", type: "invalid_request_error" } }, "context-overflow"],
  ];

  test.each(cases)("inference 8: %s after some text: %j is %s", async (vendor, frame, type) => {
    const { provider, model, opening } = vendorCase(vendor);
    await using wire = await openWire((response) => sse(response, ...opening, frame));
    const { error: failed, parts } = await failing(provider(wire.url), { model });
    expect(textOf(parts)).toBe("Hel");
    expect(failed.failure.type).toBe(type);
  });

  test("anthropic's overload as the first frame fails while it opens", async () => {
    const { provider, model } = vendorCase("anthropic");
    const frame = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    await using wire = await openWire((response) => sse(response, frame));
    await expect(provider(wire.url).stream(request({ model }), { signal: never })).rejects.toMatchObject({
      failure: { type: "overloaded" },
    });
  });
});

describe("time limit", () => {
  const { model, opening, provider } = vendorCase("anthropic");
  const impatient = (url: string) => provider(url, { timeoutMs: 60 });

  test("a server that does not answer is a timeout, and its connection is closed", async () => {
    await using wire = await openWire(() => undefined);
    const { failure } = (await soon(failing(impatient(wire.url), { model }))).error;
    expect(failure).toEqual({ type: "timeout", message: "nothing received for 0.06 s" });
    expect(await wire.clientLeaves()).toBe(true);
  });

  test("a stream that falls silent is a timeout, and its connection is closed", async () => {
    await using wire = await openWire((response) => void response.writeHead(200, SSE).write(frames(...opening)));
    const { error: silent, parts } = await soon(failing(impatient(wire.url), { model }));
    expect(textOf(parts)).toBe("Hel");
    expect(silent.failure.type).toBe("timeout");
    expect(await wire.clientLeaves()).toBe(true);
  });
});
