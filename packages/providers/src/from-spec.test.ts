import { inspect } from "node:util";
import { AwakenError, InferenceError } from "@awaken/contract";
import { parseProviderSpec } from "@awaken/contract/spec";
import { afterEach, describe, expect, test, vi } from "vitest";
import { VENDOR_ADAPTERS } from "./adapters.ts";
import { providerFromSpec } from "./from-spec.ts";
import { finish, modelV4 } from "./testing/models.ts";
import { collect, failing, never, request, textOf } from "./testing/requests.ts";
import { vendorCase } from "./testing/vendors.ts";
import { fail, frames, openWire, SSE, sse } from "./testing/wire.ts";

const KEY = "sk-live-do-not-show-this-0123456789";
const spec = (adapter: string, init: object = {}) => parseProviderSpec("p", { id: "p", adapter, apiKey: KEY, ...init });

afterEach(() => void vi.unstubAllEnvs());

const vendors = [
  { adapter: "openai", path: "/v1", header: "authorization", value: `Bearer ${KEY}` },
  { adapter: "anthropic", path: "/v1", header: "x-api-key", value: KEY },
  { adapter: "google", path: "/v1beta", header: "x-goog-api-key", value: KEY },
  { adapter: "openai-compatible", path: "/v1", header: "authorization", value: `Bearer ${KEY}` },
];

describe.each(vendors)("$adapter from a record", ({ adapter, path, header, value }) => {
  const { model, opening, closing } = vendorCase(adapter);

  test("answers, with the key, the address and the headers of the record", async () => {
    await using wire = await openWire((response) => sse(response, ...opening, ...closing));
    const adapterOptions = { headers: { "x-team": "blue" } };
    const provider = providerFromSpec(spec(adapter, { baseUrl: `${wire.url}${path}`, adapterOptions }));
    expect(provider.name).toBe("p");
    expect(textOf(await collect(provider, { model }))).toBe("Hel");
    expect(wire.requests[0]?.headers).toMatchObject({ [header]: value, "x-team": "blue" });
  });

  test("without a key it fails closed, even if the environment has one", () => {
    vi.stubEnv(VENDOR_ADAPTERS[adapter]?.keyVariable ?? "NONE", KEY);
    const keyless = spec(adapter, { apiKey: "", baseUrl: "http://127.0.0.1:9/v1" });
    expect(() => providerFromSpec(keyless)).toThrow("provider 'p': has no apiKey, and adapterOptions.allowEnvCredentials is not set");
  });

  test("the environment's key is used when the record allows it", async () => {
    await using wire = await openWire((response) => sse(response, ...opening, ...closing));
    vi.stubEnv(VENDOR_ADAPTERS[adapter]?.keyVariable ?? "NONE", KEY);
    const adapterOptions = { allowEnvCredentials: true };
    await collect(providerFromSpec(spec(adapter, { apiKey: null, baseUrl: `${wire.url}${path}`, adapterOptions })), { model });
    expect(wire.requests[0]?.headers[header]).toBe(adapter === "openai-compatible" ? undefined : value);
  });
});

describe("records that cannot work", () => {
  test("an unknown adapter names the known ones", () => {
    expect(() => providerFromSpec(spec("toString"))).toThrow(
      "provider 'p': unknown adapter 'toString'; known are openai, anthropic, google, openai-compatible",
    );
  });

  test("a compatible server needs an address, headers need texts", () => {
    expect(() => providerFromSpec(spec("openai-compatible"))).toThrow("needs a baseUrl");
    expect(() => providerFromSpec(spec("openai", { adapterOptions: { headers: { a: 1 } } }))).toThrow("header 'a' must be a text");
    expect(() => providerFromSpec(spec("openai", { adapterOptions: { headers: ["a"] } }))).toThrow("must be an object of texts");
  });

  test("a vendor package that is not installed is named, and loaded only by a call", async () => {
    const specifier = "@ai-sdk/not-installed-here";
    const open = vi.fn(() => import(specifier));
    const provider = providerFromSpec(spec("other"), { adapters: { other: { npmPackage: specifier, open } } });
    expect(open).not.toHaveBeenCalled();
    const thrown = await Promise.resolve(provider.stream(request(), { signal: never })).catch((error: unknown) => error);
    expect(AwakenError.is(thrown)).toBe(true);
    expect(thrown).toMatchObject({
      code: "provider_unavailable",
      message: "provider 'p' needs the package @ai-sdk/not-installed-here: npm install @ai-sdk/not-installed-here",
      details: { providerId: "p", npmPackage: specifier },
    });
    expect(inspect(thrown, { depth: 9 })).not.toContain(KEY);
  });

  test("other vendors can be added", async () => {
    const model = modelV4([{ type: "text-delta", id: "1", delta: "hi" }, finish()]);
    const adapters = { mine: { npmPackage: "mine", open: () => Promise.resolve(() => model) } };
    expect(textOf(await collect(providerFromSpec(spec("mine"), { adapters })))).toBe("hi");
  });
});

describe("time limit", () => {
  test("timeoutSecs holds for opening and for each gap", async () => {
    const { model, opening } = vendorCase("anthropic");
    let count = 0;
    await using wire = await openWire((response) => {
      if (count++ > 0) response.writeHead(200, SSE).write(frames(...opening));
    });
    const provider = providerFromSpec(spec("anthropic", { baseUrl: `${wire.url}/v1`, timeoutSecs: 1 }));
    const failures = [await failing(provider, { model }), await failing(provider, { model })];
    expect(failures.map(({ error }) => error.failure)).toEqual([
      { type: "timeout", message: "nothing received for 1 s" },
      { type: "timeout", message: "nothing received for 1 s" },
    ]);
    expect(textOf(failures[1]?.parts ?? [])).toBe("Hel");
  });
});

/** Everything that a log, a client or a debugger could show of an error. */
function showEverything(error: unknown): string {
  const shown: string[] = [];
  for (let current: unknown = error, depth = 0; current instanceof Error && depth < 10; current = current.cause, depth++) {
    shown.push(String(current), current.message, current.stack ?? "", JSON.stringify(current), JSON.stringify(Object.entries(current)));
    shown.push(inspect(current, { depth: 20, showHidden: true }));
  }
  return shown.join("\n");
}

describe("the key is nowhere to be seen", () => {
  const echo = {
    type: "error",
    error: { type: "authentication_error", message: `Incorrect API key provided: ${KEY}.`, code: 401, status: KEY },
  };

  test.each(vendors)("$adapter: in the errors of failing calls", async ({ adapter, path }) => {
    const { model, opening } = vendorCase(adapter);
    const errors: unknown[] = [];
    const answers = [
      (response: Parameters<typeof fail>[0]) => fail(response, 401, echo, { "x-echo": KEY, "retry-after": KEY }),
      (response: Parameters<typeof fail>[0]) => fail(response, 500, `<html>${KEY}</html>`),
      (response: Parameters<typeof fail>[0]) => sse(response, ...opening, { ...echo, key: KEY }),
      (response: Parameters<typeof fail>[0]) => void response.writeHead(200, SSE).end(`${frames(...opening)}data: {"broken ${KEY}\n\n`),
      (response: Parameters<typeof fail>[0]) => void response.writeHead(200, SSE).write(`data: ${KEY}`, () => response.destroy()),
      (response: Parameters<typeof fail>[0]) => void response.destroy(),
    ];
    const expected = answers.length;
    await using wire = await openWire((response) => void answers.shift()?.(response));
    const provider = providerFromSpec(spec(adapter, { baseUrl: `${wire.url}${path}` }));
    for (let call = 0; call < expected; call++) errors.push((await failing(provider, { model })).error);
    const unreachable = providerFromSpec(spec(adapter, { baseUrl: `http://127.0.0.1:1/${KEY}` }));
    errors.push((await failing(unreachable, { model })).error);
    expect(errors).toHaveLength(7);
    for (const error of errors) {
      expect(error).toBeInstanceOf(InferenceError);
      expect(showEverything(error)).not.toContain(KEY);
    }
    expect(errors[0]).toMatchObject({ failure: { type: "unauthorized" } });
  });

  test.each(vendors)("$adapter: when it is no valid header value", async ({ adapter }) => {
    const broken = `${KEY}\u0007\nü`;
    const provider = providerFromSpec(spec(adapter, { apiKey: broken, baseUrl: "http://127.0.0.1:1/v1" }));
    const { error } = await failing(provider, { model: vendorCase(adapter).model });
    expect(showEverything(error)).not.toContain(KEY);
  });

  test("in the provider object", () => {
    const record = spec("openai");
    const provider = providerFromSpec(record);
    expect(inspect([provider, record], { depth: 20, showHidden: true })).not.toContain(KEY);
    expect(JSON.stringify(provider)).not.toContain(KEY);
  });

  test("nor is a token in an own header, or a key from the environment", async () => {
    vi.stubEnv("OPENAI_API_KEY", KEY);
    const token = "tok-own-header-987654321";
    const adapterOptions = { allowEnvCredentials: true, headers: { Authorization: `Bearer ${token}` } };
    await using wire = await openWire((response) => fail(response, 401, { error: { message: `${KEY} and ${token}`, type: "x" } }));
    const provider = providerFromSpec(spec("openai", { apiKey: "", baseUrl: `${wire.url}/v1`, adapterOptions }));
    const { error } = await failing(provider, { model: "gpt-5-mini" });
    expect(error.message).toBe("*** and ***");
    expect(showEverything(error)).not.toMatch(new RegExp(`${KEY}|${token}`));
  });
});
