import type { JsonObject, Log, Provider } from "@awaken/contract";
import { parseProviderSpec } from "@awaken/contract/spec";
import { providerFromSpec, type VendorAdapter } from "@awaken/providers";
import { createRuntime } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LEAKS, openEcho } from "./support/echo.ts";
import { follow } from "./support/follow.ts";
import { print, printRecords } from "./support/records.ts";
import { VENDOR_NAMES, VENDORS, type VendorName } from "./support/vendors.ts";

/** Has a part that URLs and a part that JSON write differently. */
const KEY = "sk-live-4f9aQz/81+Lm==xT7pWc0vRbN2dYkH";
const NEEDLES = [KEY, encodeURIComponent(KEY), Buffer.from(KEY).toString("base64"), KEY.slice(0, 14), KEY.slice(-14)];
const RETRY = { maxRetries: 1, backoffBaseMs: 0, overloadedBackoffBaseMs: 0, maxStreamRetries: 1 };

/** How a key comes to a provider. */
const SOURCES = {
  "a spec record": (name: VendorName, url: string) =>
    providerFromSpec(parseProviderSpec(name, { adapter: name, apiKey: KEY, baseUrl: `${url}${VENDORS[name].path}` })),
  "the environment": (name: VendorName, url: string) =>
    providerFromSpec(
      parseProviderSpec(name, { adapter: name, baseUrl: `${url}${VENDORS[name].path}`, adapterOptions: { allowEnvCredentials: true } }),
    ),
  "an SDK provider": (name: VendorName, url: string) => VENDORS[name].provider({ url, apiKey: KEY }),
} as const satisfies Record<string, (name: VendorName, url: string) => Provider>;
const SOURCE_NAMES = ["a spec record", "the environment", "an SDK provider"] as const satisfies (keyof typeof SOURCES)[];

const CASES = VENDOR_NAMES.flatMap((name) => SOURCE_NAMES.flatMap((source) => LEAKS.map((leak) => [name, source, leak] as const)));

const written: string[] = [];

beforeEach(() => {
  written.length = 0;
  vi.stubEnv("OPENAI_API_KEY", KEY).stubEnv("ANTHROPIC_API_KEY", KEY).stubEnv("GOOGLE_GENERATIVE_AI_API_KEY", KEY);
  for (const method of ["log", "info", "warn", "error", "debug"] as const) {
    vi.spyOn(console, method).mockImplementation((...args) => void written.push(args.map(print).join(" ")));
  }
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, "write").mockImplementation((chunk) => written.push(String(chunk)) > 0);
  }
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const recorder: Log = {
  warn: (message, fields?: JsonObject) => void written.push(message, print(fields)),
  error: (message, fields?: JsonObject) => void written.push(message, print(fields)),
};

function expectNoKey(place: string, text: string): void {
  const found = NEEDLES.filter((needle) => text.includes(needle));
  expect(found, `${place}: ${text.slice(0, 2000)}`).toEqual([]);
}

async function thrownBy(provider: Provider, model: string): Promise<unknown> {
  try {
    const request = { model, system: "", messages: [], tools: [], promptCache: false };
    for await (const _ of await provider.stream(request, { signal: new AbortController().signal }));
  } catch (thrown) {
    return thrown;
  }
  throw new Error("expected a failure");
}

describe("a run that fails keeps its key to itself", () => {
  test.each(CASES)("%s, key from %s, server answers with %s", async (name, source, leak) => {
    await using echo = await openEcho(leak);
    await using store = memoryStore();
    const provider = SOURCES[source](name, echo.url);
    await using runtime = createRuntime({
      providers: { [name]: provider },
      models: { model: { provider: name, model: VENDORS[name].model } },
      agents: { agent: { model: "model", instructions: "Be brief.", sections: { retry: RETRY } } },
      store,
      log: recorder,
    });
    const { events, result } = await follow(runtime.stream({ agent: "agent", thread: "t", input: "hello" }));
    expect(result.termination.type).toBe("error");
    expect(new Set(echo.keys)).toEqual(new Set([KEY]));
    expectNoKey("events", print(events));
    expectNoKey("result", print(result));
    expectNoKey("records", await printRecords(store, "t", result.runId));
    expectNoKey("live objects", print([provider, runtime, runtime.registry.snapshot()]));
    expectNoKey("error", print(await thrownBy(provider, VENDORS[name].model)));
    expectNoKey("log", written.join("\n"));
  });

  test("what the server said is told, without the key", async () => {
    await using echo = await openEcho("401");
    const thrown = await thrownBy(SOURCES["a spec record"]("openai", echo.url), VENDORS.openai.model);
    expect(String(thrown)).toMatch(/the key \*\*\* \(\*\*\*\) is not good here/);
  });

  test("a vendor package that throws with the key, on a run with the console as its log", async () => {
    const open = () => Promise.reject(new Error(`cannot log in with ${KEY}`, { cause: new Error(`Bearer ${KEY}`) }));
    const adapters: Record<string, VendorAdapter> = { broken: { npmPackage: "broken", open } };
    await using store = memoryStore();
    await using runtime = createRuntime({
      providers: { broken: providerFromSpec(parseProviderSpec("broken", { adapter: "broken", apiKey: KEY }), { adapters }) },
      models: { model: { provider: "broken", model: "m" } },
      agents: { agent: { model: "model", sections: { retry: RETRY } } },
      store,
    });
    const { events, result } = await follow(runtime.stream({ agent: "agent", thread: "t", input: "hello" }));
    expect(result.termination).toMatchObject({ type: "error", message: expect.stringContaining("cannot log in with ***") });
    expectNoKey("run", print([events, result]) + (await printRecords(store, "t", result.runId)) + written.join("\n"));
  });
});
