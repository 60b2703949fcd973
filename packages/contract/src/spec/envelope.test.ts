import { describe, expect, it } from "vitest";
import { AwakenError } from "../error.ts";
import { encodeAgentSpec, parseAgentSpec } from "./agent.ts";
import { CONFIG_SCHEMA_VERSION, decodeConfigRecord, encodeConfigRecord, userRecord } from "./envelope.ts";
import { encodePlain } from "./plain.ts";
import { decodeProviderSpec } from "./provider.ts";

const spec = parseAgentSpec("a", { model: "fast" });
const decode = (value: unknown) => decodeConfigRecord(value, (stored) => parseAgentSpec("a", stored));

describe("config record", () => {
  it("of a bare spec is a user's, never stored", () => {
    const meta = { source: { type: "user" }, hidden: false, createdAt: 0, updatedAt: 0, revision: 0 };
    expect(decode({ model: "fast" })).toEqual({ schemaVersion: 1, spec, meta });
  });

  it("is always stored as an envelope", () => {
    expect(encodeConfigRecord(userRecord(spec), encodeAgentSpec)).toEqual({
      schemaVersion: CONFIG_SCHEMA_VERSION,
      spec: encodeAgentSpec(spec),
      meta: { source: { type: "user" }, hidden: false, createdAt: 0, updatedAt: 0, revision: 0 },
    });
  });

  it("reads back what was stored", () => {
    const meta = {
      source: { type: "builtin", binaryVersion: "1.2.3" },
      hidden: true,
      userOverrides: { description: null, sections: { a: null } },
      createdAt: 1,
      updatedAt: 2,
      revision: 3,
    } as const;
    const record = { ...userRecord(spec), meta };
    const stored: unknown = JSON.parse(JSON.stringify(encodeConfigRecord(record, encodeAgentSpec)));
    expect(decode(stored)).toEqual(record);
  });

  it("stores secrets as they are", () => {
    const provider = decodeProviderSpec("p", { adapter: "openai", apiKey: "sk-1" });
    const stored = encodeConfigRecord(userRecord(provider), encodePlain);
    expect(stored).toHaveProperty("spec.apiKey", "sk-1");
    expect(decodeConfigRecord(stored, (value) => decodeProviderSpec("p", value)).spec.apiKey?.reveal()).toBe("sk-1");
  });

  it("is an envelope only with both keys", () => {
    expect(() => decode({ spec: { model: "fast" } })).toThrow("invalid agent spec: unknown field 'spec'");
    expect(() => decode({ meta: {} })).toThrow("invalid agent spec: unknown field 'meta'");
    expect(decode({ spec: { model: "fast" }, meta: {} })).toEqual(userRecord(spec));
  });

  it("of a newer program is refused, not guessed at", () => {
    const read = () => decode({ schemaVersion: 2, spec: {}, meta: {} });
    expect(read).toThrow("config record has schema version 2; this program reads up to 1");
    expect(read).toThrow(expect.objectContaining({ code: "storage_too_new" }));
  });

  it.each([
    [{ schemaVersion: 0, spec: {}, meta: {} }, "field 'schemaVersion' must be greater than zero"],
    [{ spec: 1, meta: {} }, "field 'spec' must be an object, got a number"],
    [{ spec: {}, meta: null }, "field 'meta' must be an object, got null"],
    [{ spec: {}, meta: {}, extra: 1 }, "unknown field 'extra'"],
    [{ spec: {}, meta: { source: { type: "builtin" } } }, "field 'meta.source.binaryVersion' is required"],
    [{ spec: {}, meta: { source: { type: "alien" } } }, "field 'meta.source.type' must be one of 'builtin', 'user', got 'alien'"],
    [{ spec: {}, meta: { revision: -1 } }, "field 'meta.revision' must be at least 0, got -1"],
    [{ spec: {}, meta: { userOverrides: [] } }, "field 'meta.userOverrides' must be an object, got an array"],
  ])("refuses %j", (value, problem) => {
    expect(() => decode(value)).toThrow(`invalid config record: ${problem}`);
  });

  it("refuses what is neither record nor spec", () => {
    for (const value of [null, 5, "x", [], undefined]) expect(() => decode(value)).toThrow(AwakenError);
  });
});
