import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { encodePlain } from "./plain.ts";
import { decodeProviderSpec, parseProviderSpec } from "./provider.ts";

const KEY = "sk-verysecretkey";
const parse = (more: object) => parseProviderSpec("openai", { adapter: "openai", ...more });

describe("provider", () => {
  it("has the defaults of the specification", () => {
    expect(parse({})).toEqual({ id: "openai", adapter: "openai", timeoutSecs: 300, adapterOptions: {} });
  });

  it.each([{ apiKey: "" }, { apiKey: null }, { apiKey: "  " }, { baseUrl: "" }, { baseUrl: null }])(
    "registry-and-runtime 24: %j is the same as nothing",
    (more) => {
      const spec = parse(more);
      expect(Object.keys(spec)).toEqual(["id", "adapter", "timeoutSecs", "adapterOptions"]);
    },
  );

  it("registry-and-runtime 24: a real key shows as *** in logs and inspection, and is stored", () => {
    const spec = parse({ apiKey: KEY });
    expect(inspect(spec, { depth: 9 })).toContain("apiKey: ***");
    expect(inspect(spec, { depth: 9, showHidden: true })).not.toContain("verysecret");
    expect(`${spec.apiKey}`).toBe("***");
    expect(spec.apiKey?.reveal()).toBe(KEY);
    expect(encodePlain(spec)).toEqual({ id: "openai", adapter: "openai", timeoutSecs: 300, adapterOptions: {}, apiKey: KEY });
    expect(parse(encodePlain(spec)).apiKey?.reveal()).toBe(KEY);
    expect(parse(spec).apiKey?.reveal()).toBe(KEY);
  });

  it("refuses the mask as a key, since writing it would destroy the real one", () => {
    expect(() => parse({ apiKey: "***" })).toThrow("invalid provider spec: field 'apiKey' cannot be a redacted placeholder");
  });

  it("never repeats a key in a message", () => {
    expect(() => parse({ apiKey: [KEY], timeoutSecs: 0 })).toThrow(/^(?!.*verysecret).*field 'apiKey' must be a string, got an array/);
  });

  it("is strict about what is written and lenient about what is read", () => {
    const input = { adapter: "openai", addedLater: true };
    expect(() => parseProviderSpec("p", input)).toThrow("invalid provider spec: unknown field 'addedLater' (provider 'p')");
    expect(decodeProviderSpec("p", input)).toEqual({ id: "p", adapter: "openai", timeoutSecs: 300, adapterOptions: {} });
    expect(() => decodeProviderSpec("p", { adapter: " " })).toThrow("field 'adapter' cannot be empty");
  });

  it("passes adapter options on and knows a few", () => {
    const adapterOptions = {
      modelDiscoverySchema: "OpenRouter",
      modelDiscoveryAuth: "X-Goog-Api-Key",
      allowEnvCredentials: true,
      headers: { "x-team": "a" },
    };
    expect(parse({ adapterOptions }).adapterOptions).toEqual({
      ...adapterOptions,
      modelDiscoverySchema: "openrouter",
      modelDiscoveryAuth: "x-goog-api-key",
    });
  });

  it.each([
    [{ adapter: "" }, "field 'adapter' cannot be empty"],
    [{ timeoutSecs: 0 }, "field 'timeoutSecs' must be greater than zero"],
    [{ adapterOptions: { modelDiscoverySchema: "soap" } }, "field 'adapterOptions.modelDiscoverySchema' must be one of 'openai'"],
    [{ adapterOptions: { modelDiscoveryAuth: "basic" } }, "field 'adapterOptions.modelDiscoveryAuth' must be one of 'bearer'"],
    [{ adapterOptions: { allowEnvCredentials: "yes" } }, "field 'adapterOptions.allowEnvCredentials' must be true or false"],
    [{ adapterOptions: { headers: { a: Number.NaN } } }, "field 'adapterOptions.headers.a' must be a string or a finite number"],
    [
      { adapterOptions: { credentialsKind: "service-account-json" } },
      "field 'adapterOptions.credentialsKind' is for adapter 'vertex', got adapter 'openai'",
    ],
  ])("refuses %j", (more, problem) => {
    expect(() => parse(more)).toThrow(`invalid provider spec: ${problem}`);
  });

  it("takes service account credentials for vertex", () => {
    const adapterOptions = { credentialsKind: "service-account-json" };
    expect(parse({ adapter: "vertex", adapterOptions }).adapterOptions).toEqual(adapterOptions);
  });
});
