import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  compactionSectionSchema,
  contextTransformSectionSchema,
  ERROR_TABLE,
  knowledgeCutoffSectionSchema,
  retrySectionSchema,
  type Schema,
  toJsonSchema,
} from "@awaken/contract";
import { agentSpecSchema, contextPolicySchema, modelSpecSchema, poolSpecSchema, stopConditionSchema } from "@awaken/contract/spec";
import type { defineTool, RunRequest, RuntimeInit } from "awaken";
import { afterAll, describe, expect, it } from "vitest";
import { openFolder } from "./check-docs.ts";
import { readBlocks } from "./doc-blocks.ts";

const ROOT = join(import.meta.dirname, "..");
const PAGE = "docs/reference.md";
const page = readFileSync(join(ROOT, PAGE), "utf8");

/** The page from one heading to the next that is not below it. */
function section(heading: string, text = page): string {
  const from = text.indexOf(`\n${heading}\n`);
  if (from < 0) throw new Error(`${PAGE} has no '${heading}'`);
  const level = /^#+/.exec(heading)?.[0].length ?? 0;
  const end = text.slice(from + 1).search(new RegExp(`(?<=\n)#{1,${level}} `));
  return end < 0 ? text.slice(from) : text.slice(from, from + 1 + end);
}

/** The names of all fields, of every variant; with `deep`, of what is below them too. */
function propertyNames(schema: Schema, deep: boolean): Set<string> {
  const names = new Set<string>();
  const visit = (node: unknown, isBelow: boolean): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      if (key === "properties" && typeof value === "object" && value !== null) {
        if (isBelow && !deep) continue;
        for (const name of Object.keys(value)) names.add(name);
        for (const below of Object.values(value)) visit(below, true);
      } else visit(value, isBelow);
    }
  };
  visit(toJsonSchema(schema), false);
  return names;
}

/** A list of all option names that the compiler holds to the type. */
const namesOf = <T>(names: { readonly [Name in keyof Required<T>]: true }): readonly string[] => Object.keys(names);

const OPTIONS = namesOf<RuntimeInit>({
  agents: true,
  providers: true,
  models: true,
  pools: true,
  tools: true,
  plugins: true,
  backends: true,
  remoteAgents: true,
  resolver: true,
  state: true,
  store: true,
  streamCheckpoints: true,
  cancelGraceMs: true,
  maxDelegationDepth: true,
  messageSink: true,
  messageDelivery: true,
  maxRunningTasks: true,
  limits: true,
  log: true,
  clock: true,
  ids: true,
  checked: true,
  workers: true,
  concurrency: true,
  leaseMs: true,
  maxAttempts: true,
  yieldBefore: true,
  retention: true,
  node: true,
});
const LIMITS = namesOf<NonNullable<RuntimeInit["limits"]>>({
  hookMs: true,
  gateMs: true,
  actionMs: true,
  effectMs: true,
  schemaMs: true,
  storeMs: true,
  initializeMs: true,
});
const REQUEST = namesOf<RunRequest>({
  agent: true,
  thread: true,
  input: true,
  output: true,
  outputRetries: true,
  overrides: true,
  frontendTools: true,
  frontendContext: true,
  extras: true,
  signal: true,
  runId: true,
  resume: true,
  decisions: true,
  onBusy: true,
  principal: true,
  trace: true,
});
const TRACE = namesOf<NonNullable<RunRequest["trace"]>>({
  origin: true,
  runMode: true,
  adapter: true,
  parentRunId: true,
  rootRunId: true,
  parentThreadId: true,
  parentToolCallId: true,
  sessionId: true,
  transportRequestId: true,
  correlationId: true,
  traceParent: true,
});
const OVERRIDES = namesOf<NonNullable<RunRequest["overrides"]>>({
  upstreamModel: true,
  temperature: true,
  maxTokens: true,
  topP: true,
  reasoningEffort: true,
});
const TOOL = namesOf<Parameters<typeof defineTool>[0]>({
  id: true,
  description: true,
  input: true,
  output: true,
  execute: true,
  approve: true,
  reconcile: true,
  idempotent: true,
  pure: true,
  timeoutMs: true,
  kind: true,
  dynamic: true,
  category: true,
  metadata: true,
  parameters: true,
  state: true,
});

const inRow = (table: string) => (name: string) => new RegExp(`^\\|[^|]*\`${name}[\`(]`, "m").test(table);
const inCode = (text: string) => (name: string) => new RegExp(`\\b${name}: `).test(text);
const missing = (names: Iterable<string>, has: (name: string) => boolean) => [...names].filter((name) => !has(name));

describe("the reference", () => {
  it("has a heading and a sample for every field of an agent", () => {
    const agent = section("## Agent");
    const headings = agent.split("\n").filter((line) => line.startsWith("### "));
    const names = propertyNames(agentSpecSchema, false);
    expect(names.size).toBeGreaterThan(20);
    const isShown = (name: string) => {
      const heading = headings.find((line) => line.includes(`\`${name}\``));
      return heading !== undefined && inCode(section(heading))(name);
    };
    expect(missing(names, isShown)).toEqual([]);
  });

  it("shows every field of what an agent is made of, and of models and pools", () => {
    const agent = section("## Agent");
    const sections = [compactionSectionSchema, contextTransformSectionSchema, knowledgeCutoffSectionSchema, retrySectionSchema];
    const inside = [contextPolicySchema, stopConditionSchema, ...sections].flatMap((schema) => [...propertyNames(schema, true)]);
    expect(inside.length).toBeGreaterThan(20);
    expect(inside).toContain("streamIdleTimeoutSecs");
    expect(missing(inside, inCode(agent))).toEqual([]);
    expect(missing(propertyNames(modelSpecSchema, true), inCode(section("## Model")))).toEqual([]);
    expect(missing(propertyNames(poolSpecSchema, true), inCode(section("## Pool")))).toEqual([]);
  });

  it("has a row for every option of createRuntime, of a request and of defineTool", () => {
    expect(missing(OPTIONS, inRow(section("## createRuntime")))).toEqual([]);
    expect(missing(LIMITS, (name) => section("## createRuntime").includes(`\`${name}\``))).toEqual([]);
    expect(missing(REQUEST, inRow(section("## A request")))).toEqual([]);
    expect(missing(TRACE, (name) => section("## A request").includes(`\`${name}\``))).toEqual([]);
    expect(missing(OVERRIDES, inCode(section("### Overrides")))).toEqual([]);
    expect(missing(TOOL, inRow(section("## defineTool")))).toEqual([]);
  });

  it("explains every error code, and none that there is not", () => {
    const codes = section("## Error codes");
    const rows = codes.split("\n").filter((line) => line.startsWith("| `"));
    const explained = rows.flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, code]) => code ?? ""));
    expect(explained.toSorted()).toEqual(Object.keys(ERROR_TABLE).toSorted());
    const again = codes.split("\n").find((line) => line.startsWith("The same request may succeed")) ?? "";
    const named = [...again.matchAll(/`(\w+)`/g)].map(([, code]) => code ?? "");
    expect(named).toEqual(Object.entries(ERROR_TABLE).flatMap(([code, { canRetry }]) => (canRetry ? [code] : [])));
  });
});

describe("the agents of the reference", () => {
  const folder = openFolder(ROOT);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("are taken by a runtime as they are printed", () => {
    const preamble = readFileSync(join(ROOT, "docs/preambles/agent.ts"), "utf8");
    const blocks = readBlocks(PAGE, page).filter(({ code }) => code.includes("const agent: AgentInput"));
    expect(blocks.length).toBeGreaterThan(10);
    const names = blocks.map(({ code }, index) => {
      const exported = code.includes("const other:") ? "{ agent, other }" : "{ agent }";
      writeFileSync(join(folder, `agent-${index}.ts`), `${preamble}${code}\nexport default ${exported};\n`);
      return `agent-${index}`;
    });
    writeFileSync(
      join(folder, "main.ts"),
      [
        'import { createRuntime, definePlugin, defineTool } from "awaken";',
        'import { scripted } from "awaken/testing";',
        'import * as z from "zod";',
        ...names.map((name, index) => `import a${index} from "./${name}.ts";`),
        `const given = [${names.map((_, index) => `...Object.values(a${index})`).join(", ")}];`,
        "const tool = (id) => defineTool({ id, description: id, input: z.object({}), execute: () => null });",
        'const budget = definePlugin({ id: "budget", config: z.strictObject({ capCents: z.number().default(1) }), register() {} });',
        "createRuntime({",
        "  providers: { p: scripted([]) },",
        '  models: { fast: { provider: "p", model: "m" } },',
        '  tools: ["weather", "order_get", "order_delete", "ping_internal", "hand_in"].map(tool),',
        '  plugins: [budget, definePlugin({ id: "audit", register() {} })],',
        '  agents: { researcher: { model: "fast" }, billing: { model: "fast" }, ...Object.fromEntries(given.map((one, at) => [one.id ?? "a" + at, one])) },',
        "});",
        "console.log(given.length);",
      ].join("\n"),
    );
    const env = { ...process.env, NODE_OPTIONS: "--conditions=awaken-source" };
    const { stdout, stderr } = spawnSync(process.execPath, ["main.ts"], { cwd: folder, env, encoding: "utf8" });
    expect(stderr).toBe("");
    expect(Number(stdout)).toBeGreaterThan(blocks.length);
  });
});
