import { describe, expect, it } from "vitest";
import { AwakenError } from "../error.ts";
import { parseA2aServerSpec } from "./a2a-server.ts";
import { parseAgentSpec } from "./agent.ts";
import { parseRemoteEndpoint } from "./endpoint.ts";
import { parseMcpServerSpec } from "./mcp-server.ts";
import { parseModelSpec } from "./model.ts";
import { parseAgentPatch, parseToolPatch } from "./patch.ts";
import { MAX_DEPTH } from "./plain.ts";
import { parsePoolSpec } from "./pool.ts";
import { decodeProviderSpec, parseProviderSpec } from "./provider.ts";
import { parseToolRecord } from "./tool-record.ts";

/** Each parser with an input that it takes and the name of a field of it that holds free JSON. */
const PARSERS: readonly (readonly [string, (input: unknown) => object, object, string])[] = [
  ["agent", (input) => parseAgentSpec("x", input), { model: "m" }, "sections"],
  ["agent patch", (input) => parseAgentPatch("x", input), { model: "m" }, "sections"],
  ["remote endpoint", parseRemoteEndpoint, { a2a: "https://h" }, "options"],
  ["A2A server", (input) => parseA2aServerSpec("x", input), { baseUrl: "https://h" }, "options"],
  ["provider", (input) => parseProviderSpec("x", input), { adapter: "a" }, "adapterOptions"],
  ["stored provider", (input) => decodeProviderSpec("x", input), { adapter: "a" }, "adapterOptions"],
  ["MCP server", (input) => parseMcpServerSpec("x", input), { type: "stdio", command: "c" }, "config"],
  ["tool", (input) => parseToolRecord("x", input), { name: "n", description: "d", parameters: {} }, "parameters"],
];
const CLOSED: readonly (readonly [string, (input: unknown) => object, object])[] = [
  ["model", (input) => parseModelSpec("x", input), { provider: "p", model: "m" }],
  ["model pool", (input) => parsePoolSpec("x", input), { members: [{ model: "m" }] }],
  ["tool patch", (input) => parseToolPatch("x", input), { description: "d" }],
];
const ALL = [...PARSERS.map(([name, parse, input]) => [name, parse, input] as const), ...CLOSED];

function refusal(parse: () => object): AwakenError {
  try {
    parse();
  } catch (thrown) {
    if (AwakenError.is(thrown)) return thrown;
    throw thrown;
  }
  throw new Error("was not refused");
}

const nest = (levels: number): object => {
  let value: object = {};
  for (let level = 0; level < levels; level++) value = { in: value };
  return value;
};

describe.each(ALL)("%s", (_name, parse, input) => {
  it("refuses what is not an object, with a code and a readable message", () => {
    for (const wrong of [null, undefined, 0, Number.NaN, "x", true, [], [input], () => input, Symbol("x"), 1n]) {
      const error = refusal(() => parse(wrong));
      expect(error.code).toBe("invalid_spec");
      expect(error.message).toMatch(/^invalid .+: expected an object, got /);
    }
  });

  it("refuses the prototype as a member", () => {
    const poisoned: object = JSON.parse(`${JSON.stringify(input).slice(0, -1)},"__proto__":{"polluted":true}}`);
    expect(refusal(() => parse(poisoned)).message).toContain("the spec must not have a member '__proto__'");
    expect({}).not.toHaveProperty("polluted");
  });

  it("does not take fields from a prototype", () => {
    expect(refusal(() => parse(Object.create(input))).message).toContain("must be plain JSON, got an instance of");
    class Spec {}
    expect(refusal(() => parse(Object.assign(new Spec(), input))).message).toContain("got an instance of Spec");
  });

  it("takes an object that has no prototype", () => {
    expect(parse(Object.assign(Object.create(null), input))).toEqual(parse(input));
  });
});

describe.each(ALL.filter(([name]) => name !== "stored provider"))("%s", (_name, parse, input) => {
  it("names unknown fields, without drowning in them", () => {
    expect(refusal(() => parse({ ...input, wat: 1 })).message).toContain("unknown field 'wat'");
    expect(refusal(() => parse({ ...input, constructor: 1, toString: 2 })).message).toContain(
      "unknown field 'constructor'; unknown field 'toString'",
    );
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`.repeat(50), 1]));
    const { message } = refusal(() => parse({ ...input, ...many }));
    expect(message).toContain("and 9995 more");
    expect(message.length).toBeLessThan(1_000);
  });
});

describe.each(PARSERS)("free JSON of %s", (_name, parse, input, field) => {
  const withJson =
    (value: unknown): (() => object) =>
    () =>
      parse({ ...input, [field]: { key: value } });

  it.each([
    ["NaN", Number.NaN, "got NaN"],
    ["Infinity", Number.NEGATIVE_INFINITY, "got -Infinity"],
    ["a function", () => 1, "got a function"],
    ["a symbol", Symbol("s"), "got a symbol"],
    ["a bigint", 1n, "got a bigint"],
    ["a date", new Date(0), "got an instance of Date"],
    ["a map", new Map(), "got an instance of Map"],
  ])("refuses %s", (_kind, value, problem) => {
    const error = refusal(withJson(value));
    expect(error.code).toBe("invalid_spec");
    expect(error.message).toContain(problem);
    expect(error.message).toContain(`${field}.key`);
  });

  it("refuses the prototype as a member, at any depth", () => {
    expect(refusal(withJson([JSON.parse('{"__proto__":1}')])).message).toContain(
      `field '${field}.key.0' must not have a member '__proto__'`,
    );
  });

  it("refuses what is nested too deep, and what contains itself", () => {
    expect(withJson(nest(MAX_DEPTH - 4))).not.toThrow();
    const loop: { self?: object } = {};
    loop.self = loop;
    for (const value of [nest(MAX_DEPTH), nest(5_000), loop]) {
      expect(refusal(withJson(value)).message).toContain(`is nested deeper than ${MAX_DEPTH} levels`);
    }
  });
});

describe("huge strings", () => {
  const huge = "x".repeat(5_000_000);

  it("are kept where text is free", () => {
    expect(parseAgentSpec("x", { instructions: huge })).toHaveProperty("instructions.length", huge.length);
  });

  it.each([
    ["field name", { [huge]: 1 }],
    ["name of a section", { sections: { [huge]: new Date(0) } }],
    ["enum", { toolExecution: huge }],
    ["tag", { stopConditions: [{ type: huge }] }],
    ["regular expression", { stopConditions: [{ type: "content-match", pattern: huge }] }],
    ["union", { reasoningEffort: huge }],
    ["url", { remote: { a2a: huge } }],
    ["auth type", { remote: { a2a: "https://h", auth: { type: huge, token: "t" } } }],
    ["pattern", { toolPatterns: [`${huge}\\`] }],
  ])("do not get into the message as a %s", (_place, input) => {
    expect(refusal(() => parseAgentSpec("x", input)).message.length).toBeLessThan(1_000);
  });

  it("do not get into the message as an id", () => {
    expect(refusal(() => parseModelSpec(huge, {})).message.length).toBeLessThan(1_000);
    expect(refusal(() => parseModelSpec("x", { id: huge })).message.length).toBeLessThan(1_000);
    expect(refusal(() => parseModelSpec(huge, { id: "x" })).message.length).toBeLessThan(1_000);
  });
});
