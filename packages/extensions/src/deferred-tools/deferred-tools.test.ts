import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, definePlugin, defineTool, type Plugin, type RuntimeInit } from "@awaken/runtime";
import { scripted, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { afterAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { deferredTools } from "./deferred-tools.ts";
import { searchTools } from "./search.ts";
import type { DeferredToolsSectionInput } from "./section.ts";

const tool = (id: string, description: string, size = 0) =>
  defineTool({
    id,
    description,
    input: z.object({ city: z.string().describe("x".repeat(size)).optional() }),
    execute: () => `${id} ran`,
  });

const TOOLS = [
  tool("weather_now", "Current weather of a city"),
  tool("weather_week", "Weather forecast for a week"),
  tool("stock_price", "Price of a stock"),
  tool("send_mail", "Sends a mail"),
];

const search = (query: string, more: { readonly max_results?: number } = {}) => toolCall("ToolSearch", { query, ...more });

interface DeskInit {
  readonly section?: DeferredToolsSectionInput;
  readonly tools?: RuntimeInit["tools"];
  readonly plugins?: readonly Plugin[];
  readonly store?: NonNullable<RuntimeInit["store"]>;
  readonly more?: { readonly toolPatterns?: readonly string[] };
}

function openDesk(turns: Parameters<typeof scripted>[0], init: DeskInit = {}) {
  const { section = { enabled: true }, tools = TOOLS, plugins = [], store = memoryStore(), more = {} } = init;
  const all = [deferredTools(), ...plugins];
  const model = scripted(turns);
  const runtime = createRuntime({
    providers: { main: model },
    models: { fast: { provider: "main", model: "m" } },
    agents: {
      assistant: {
        model: "fast",
        plugins: all.map(({ id }) => id),
        sections: { "deferred-tools": JSON.parse(JSON.stringify(section)) },
        ...more,
      },
    },
    tools,
    plugins: all,
    store,
    log: { warn() {}, error() {} },
  });
  const messages = (request: number) => model.requests[request]?.messages ?? [];
  return {
    runtime,
    model,
    offered: (request: number) => (model.requests[request]?.tools ?? []).map(({ id }) => id),
    /** The first system message: what is announced. */
    announced: (request: number) =>
      messages(request).flatMap(({ role, content }) =>
        role === "system" ? content.map((part) => (part.type === "text" ? part.text : "")) : [],
      ),
    /** What the last result says. */
    found: (request: number) => {
      const [part] = messages(request).at(-1)?.content ?? [];
      return JSON.stringify(part);
    },
  };
}

const LIST = "The following deferred tools are available via ToolSearch: send_mail, stock_price, weather_now, weather_week";

describe("deferred tools", () => {
  test("extensions 63: automatic mode does nothing below the overhead and defers above it", async () => {
    const small = openDesk([text("ok")], { section: {} });
    await small.runtime.run({ input: "go" });
    expect(small.offered(0)).toEqual(["send_mail", "stock_price", "weather_now", "weather_week"]);
    expect(small.announced(0)).toEqual([]);
    const big = openDesk([text("ok")], { section: {}, tools: [...TOOLS, tool("huge", "x".repeat(3_000), 3_000)] });
    await big.runtime.run({ input: "go" });
    expect(big.offered(0)).toEqual(["ToolSearch"]);
    expect(big.announced(0)).toEqual([LIST.replace("send_mail", "huge, send_mail")]);
    // The description counts, and eager tools do not.
    const wordy = openDesk([text("ok")], { section: {}, tools: [tool("wordy", "x".repeat(5_000))] });
    await wordy.runtime.run({ input: "go" });
    expect(wordy.offered(0)).toEqual(["ToolSearch"]);
    const eager = openDesk([text("ok")], {
      section: { rules: [{ tool: "w*", mode: "eager" }] },
      tools: [tool("wordy", "x".repeat(5_000))],
    });
    await eager.runtime.run({ input: "go" });
    expect(eager.offered(0)).toEqual(["wordy"]);
  });

  test("extensions 63: `enabled` decides instead, and without the search in its catalogue an agent has all its tools", async () => {
    const off = openDesk([text("ok")], { section: { enabled: false, betaOverhead: 0 } });
    await off.runtime.run({ input: "go" });
    expect(off.offered(0)).not.toContain("ToolSearch");
    expect(off.offered(0)).toHaveLength(4);
    const without = openDesk([text("ok")], { more: { toolPatterns: ["weather_*"] } });
    await without.runtime.run({ input: "go" });
    expect(without.offered(0)).toEqual(["weather_now", "weather_week"]);
    expect(() => openDesk([], { section: { rules: [{ tool: "[", mode: "eager" }] } })).toThrow("rule 0 — parse error at 0");
  });

  test("extensions 64: `select:a,b` returns both in order and they are offered at the next inference; unknown ids are skipped", async () => {
    const desk = openDesk([search("select: weather_week, nothing,send_mail,weather_week"), text("ok")]);
    const run = desk.runtime.stream({ input: "go" });
    const results: unknown[] = [];
    for await (const event of run) if (event.type === "tool-call-end") results.push(event.result);
    expect(desk.offered(0)).toEqual(["ToolSearch"]);
    expect(desk.offered(1)).toEqual(["ToolSearch", "send_mail", "weather_week"]);
    expect(results).toMatchObject([{ type: "success", metadata: { promoted: ["weather_week", "send_mail"] } }]);
    const told = JSON.stringify(results);
    expect(told.indexOf("weather_week")).toBeLessThan(told.indexOf("send_mail"));
    const data = JSON.stringify(desk.model.requests[1]?.messages.at(-1));
    expect(data).toContain("<functions>");
    expect(data).toContain("Sends a mail");
    expect(data).not.toContain("promote");
  });

  test("what is announced is the same in every request, whatever is promoted", async () => {
    const desk = openDesk([search("select:send_mail"), toolCall("send_mail", {}), text("ok"), text("again")]);
    await desk.runtime.run({ thread: "t", input: "go" });
    await desk.runtime.run({ thread: "t", input: "more" });
    expect([0, 1, 2, 3].map((request) => desk.announced(request))).toEqual([[LIST], [LIST], [LIST], [LIST]]);
  });

  test("extensions 65: a direct call to a deferred tool executes", async () => {
    const desk = openDesk([toolCall("stock_price", {}), text("ok")]);
    await desk.runtime.run({ input: "go" });
    expect(desk.found(1)).toContain("stock_price ran");
    expect([desk.offered(0), desk.offered(1)]).toEqual([["ToolSearch"], ["ToolSearch", "stock_price"]]);
  });

  test("extensions 66: a promoted tool idle for `deferAfter` steps is hidden again; one configured `eager` never is", async () => {
    const section = { enabled: true, rules: [{ tool: "send_mail", mode: "eager" as const }], discBeta: { deferAfter: 2 } };
    const other = toolCall("send_mail", {});
    const turns = [
      search("select:stock_price"),
      other,
      other,
      other,
      toolCall("stock_price", {}),
      other,
      toolCall("stock_price", {}),
      other,
      other,
      other,
      text("ok"),
    ];
    const desk = openDesk(turns, { section });
    await desk.runtime.run({ input: "go" });
    const isOffered = turns.map((_, request) => desk.offered(request).includes("stock_price"));
    // Searched for in the first step; not called in two; called though it is hidden; kept alive by the next call; not called in two.
    expect(isOffered).toEqual([false, true, true, false, false, true, true, true, true, false, false]);
    expect(turns.every((_, request) => desk.offered(request).includes("send_mail"))).toBe(true);
    expect(desk.announced(0)[0]).not.toContain("send_mail");
  });

  test("extensions 67: keyword results with equal score are ordered by id", async () => {
    const ids = async (query: string, more = {}) => {
      const desk = openDesk([search(query, more), text("ok")]);
      await desk.runtime.run({ input: "go" });
      return [...desk.found(1).matchAll(/name[\\]*":[\\]*"(\w+)/g)].map(([, id]) => id);
    };
    expect(await ids("WEATHER")).toEqual(["weather_now", "weather_week"]);
    expect(await ids("weather week price")).toEqual(["weather_week", "stock_price", "weather_now"]);
    expect(await ids("+price weather week")).toEqual(["stock_price"]);
    expect(await ids("a", { max_results: 2 })).toEqual(["send_mail", "stock_price"]);
    expect(await ids("zebra")).toEqual([]);
  });

  test("extensions 67: also of a catalogue in any order", () => {
    const tool = (id: string) => ({ id, description: "weather", parameters: {} });
    expect(searchTools([tool("c"), tool("a"), tool("b")], "weather", 2).map(({ id }) => id)).toEqual(["a", "b"]);
  });

  test("what is not found is said", async () => {
    const desk = openDesk([search("zebra"), text("ok")]);
    await desk.runtime.run({ input: "go" });
    expect(desk.found(1)).toContain("No matching tools found in the deferred tool registry.");
    expect(desk.offered(1)).toEqual(["ToolSearch"]);
  });

  test("tools that come and go, and those of the front end, are found in the catalogue of that run", async () => {
    let found = [tool("mcp__one", "Found first")];
    const source = definePlugin({ id: "source", register: (r) => r.tools({ prefix: "mcp__", snapshot: () => found }) });
    const turns = [toolCalls([{ name: "ToolSearch", input: { query: "found paint" } }]), text("ok"), search("found"), text("ok")];
    const desk = openDesk(turns, { plugins: [source] });
    await desk.runtime.run({ input: "go", frontendTools: [{ id: "paint", description: "Paints", parameters: { type: "object" } }] });
    expect(desk.offered(1)).toEqual(["ToolSearch", "mcp__one", "paint"]);
    found = [tool("mcp__two", "Found later")];
    await desk.runtime.run({ input: "go" });
    expect(desk.offered(3)).toEqual(["ToolSearch", "mcp__two"]);
  });
});

const folder = mkdtempSync(join(tmpdir(), "awaken-deferred-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(join(folder, "a.db"))],
])("promotions on %s stay for the thread's next runs, in another process too, and not in other threads", async (_, open) => {
  const store = open();
  const first = openDesk([search("select:send_mail"), text("ok")], { store });
  await first.runtime.run({ thread: "t", input: "go" });
  const next = openDesk([text("ok"), text("ok")], { store });
  await next.runtime.run({ thread: "t", input: "more" });
  await next.runtime.run({ thread: "other", input: "more" });
  expect([next.offered(0), next.offered(1)]).toEqual([["ToolSearch", "send_mail"], ["ToolSearch"]]);
});
