import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

// The programs of the API document, word for word: only the facade's name and the vendors are replaced. They are compiled as a user
// would compile them, with `strict` and nothing else, and then run.

const ROOT = resolve(import.meta.dirname, "../../../..");

const FIRST = `
import { createRuntime, defineTool } from "@awaken/runtime";
import { scripted, text as says, toolCall } from "@awaken/runtime/testing";
import { z } from "zod";

const openai = scripted([toolCall("weather", { city: "Oslo" }), says("21 degrees."), says("Work, ", "then rest.")]);

const weather = defineTool({
  id: "weather",
  description: "Current weather for a city",
  input: z.object({ city: z.string() }),
  execute: async ({ city }, ctx) => ({ city, tempC: 21 }), // ctx: signal, idempotencyKey, state, progress, resume, profile, identity
});

const runtime = createRuntime({
  providers: { openai },                                    // an AI SDK provider, or our own Provider
  models: { fast: { provider: "openai", model: "gpt-5-mini" } },
  agents: { assistant: { model: "fast", instructions: "Be brief." } },   // plain, serialisable specs
  tools: [weather],
});

const result = await runtime.run({ agent: "assistant", thread: "t1", input: "Weather in Oslo?" });
console.log(result.text, result.status, result.usage);
`;

const PROGRAMS = {
  "1": FIRST,

  "2": `${FIRST}
const { signal } = new AbortController();
const run = runtime.stream({ agent: "assistant", thread: "t1", input: "Plan my day", signal });
for await (const event of run) {                            // a discriminated union on \`type\`
  if (event.type === "text-delta") process.stdout.write(event.delta);
  if (event.type === "tool-call-end") console.log(event.toolName, event.outcome);
}
const { text, steps, termination } = await run.result;
await runtime.cancel(run.id);                               // by run id or thread id; leaving the loop only detaches
console.log("", text, steps, termination.type, openai.requests[2]?.messages.length);
`,

  "3": `
import { allow, ask, createRuntime, defineTool } from "@awaken/runtime";
import { scripted, text, toolCall } from "@awaken/runtime/testing";
import { z } from "zod";

const openai = scripted([toolCall("refund", { orderId: "7", amount: 120 }), text("Refunded.")]);
const payments = { refund: (input: { orderId: string; amount: number }, { idempotencyKey }: { idempotencyKey: string }) => ({ ...input, isKeyed: idempotencyKey !== "" }) };

const refund = defineTool({
  id: "refund",
  description: "Refund an order",
  input: z.object({ orderId: z.string(), amount: z.number() }),
  approve: ({ amount }) => (amount > 100 ? ask(\`Refund \${amount}?\`) : allow()),
  execute: (input, ctx) => payments.refund(input, { idempotencyKey: ctx.idempotencyKey }),
});

const runtime = createRuntime({
  providers: { openai },
  models: { fast: { provider: "openai", model: "gpt-5-mini" } },
  agents: { support: { model: "fast" } },
  tools: [refund],
});

const first = await runtime.run({ agent: "support", thread: "t9", input: "Refund order 7" });
if (first.status === "waiting") {
  const [ticket] = first.tickets;                           // days later, in another process, in any order
  await runtime.decide(ticket.id, { action: "approve", input: { ...ticket.input, amount: 90 }, by: "ana" });
  const done = await runtime.wait(first.runId);
  console.log(ticket.message, done.status, done.text, JSON.stringify(openai.requests[1]?.messages.at(-1)?.content));
}
`,

  "4": `
import { block, command, createRuntime, definePlugin, defineState, defineTool } from "@awaken/runtime";
import { scripted, text, toolCall } from "@awaken/runtime/testing";
import { z } from "zod";

export const spend = defineState("budget.spend", {
  scope: "thread",
  schema: z.object({ cents: z.number() }),
  initial: () => ({ cents: 0 }),
  apply: (value, update: { add: number }) => ({ cents: value.cents + update.add }),
  merge: "commutative",                                     // safe when tools run in parallel
});

export const budget = definePlugin({
  id: "budget",
  config: z.object({ capCents: z.number().default(500) }),
  register(r, config) {
    r.state(spend);
    r.gate(({ state }) => ((state.get(spend)?.cents ?? 0) >= config.capCents ? block("budget used up") : undefined));
    r.hook("afterInference", ({ turn }) => command().update(spend, { add: turn.usage.totalTokens / 100 }));
  },
});
// agents: { assistant: { model: "fast", plugins: ["budget"], sections: { budget: { capCents: 300 } } } }
const look = defineTool({ id: "look", description: "", input: z.object({}), execute: () => "seen" });
const runtime = createRuntime({
  providers: { openai: scripted([toolCall("look", {}), text("ok"), toolCall("look", {})]) },
  models: { fast: { provider: "openai", model: "gpt-5-mini" } },
  agents: { assistant: { model: "fast", plugins: ["budget"], sections: { budget: { capCents: 0.4 } } } },
  plugins: [budget],
  tools: [look],
});
const one = await runtime.run({ agent: "assistant", thread: "t", input: "look" });
const two = await runtime.run({ agent: "assistant", thread: "t", input: "look again" });
console.log(one.termination.type, JSON.stringify(two.termination));
`,

  "6": `${FIRST}
const anthropic = scripted([]);
console.log(
runtime.registry.version,                                   // 1
runtime.registry.registerProvider("backup", anthropic),     // 2; 16 concurrent ones all survive
JSON.stringify(runtime.registry.previewRemoveProvider("openai")), // { providerId, modelIds, agentIds, blockIfReferencedAllowed, cascadeUnusedModelBindingsAllowed }
);
try {
  runtime.registry.removeProvider("openai", "cascade-unused-model-bindings");     // throws provider_in_use while an agent needs it
} catch (error) {
  console.log(error instanceof Error && "code" in error ? error.code : error);
}
runtime.registry.update((draft) => { draft.agents.assistant = { ...draft.agents.assistant, instructions: "Be kind." }; });
await runtime.run({ agent: "assistant", thread: "t2", input: "hi" });
console.log(openai.requests.map((request) => request.system).join(" "));
`,
} as const;

let folder = "";

beforeAll(() => {
  const cache = join(ROOT, "node_modules/.cache/awaken");
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, "api-programs-"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const compilerOptions = {
    strict: true,
    target: "ES2024",
    lib: ["ES2024", "ESNext", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
    module: "NodeNext",
    skipLibCheck: true,
    noEmit: true,
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules/@types")],
    customConditions: ["awaken-source"],
    allowImportingTsExtensions: true,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  for (const [section, program] of Object.entries(PROGRAMS)) {
    writeFileSync(join(folder, `section-${section}.ts`), program);
    // Node does not strip types below node_modules.
    writeFileSync(join(folder, `section-${section}.js`), stripTypeScriptTypes(program));
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function play(section: keyof typeof PROGRAMS): readonly string[] {
  const args = ["--conditions=awaken-source", join(folder, `section-${section}.js`)];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout.trim().split("\n");
}

describe("the programs of the API document", () => {
  it("compile as written, under strict", () => {
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    const { status, stdout } = spawnSync(tsc, ["-p", join(folder, "tsconfig.json")], { encoding: "utf8" });
    expect([status, stdout]).toEqual([0, ""]);
  }, 120_000);

  it("1: an agent with a tool", () => {
    expect(play("1")[0]).toBe("21 degrees. done { inputTokens: 20, outputTokens: 10, totalTokens: 30 }");
  }, 30_000);

  it("2: streaming, detaching, cancelling; the thread lives in memory", () => {
    expect(play("2").at(-1)).toBe("Work, then rest. Work, then rest. 1 natural-end 5");
  }, 30_000);

  it("3: human in the loop", () => {
    const refunded = JSON.stringify([{ type: "text", text: JSON.stringify({ orderId: "7", amount: 90, isKeyed: true }) }]);
    expect(play("3")).toEqual([`Refund 120? done Refunded. ${refunded}`]);
  }, 30_000);

  it("4: state and a plugin", () => {
    expect(play("4")).toEqual(['natural-end {"type":"blocked","reason":"budget used up"}']);
  }, 30_000);

  it("6: change it while it runs", () => {
    const preview = {
      providerId: "openai",
      modelIds: ["fast"],
      agentIds: ["assistant"],
      blockIfReferencedAllowed: false,
      cascadeUnusedModelBindingsAllowed: false,
    };
    const [, edits, refused, systems] = play("6");
    expect(edits).toBe(`1 2 ${JSON.stringify(preview)}`);
    expect([refused, systems]).toEqual(["provider_in_use", "Be brief. Be brief. Be kind."]);
  }, 30_000);
});
