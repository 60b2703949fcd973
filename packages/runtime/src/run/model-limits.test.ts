import { InferenceError, messageText } from "@awaken/contract";
import type { ModelSpecInput } from "@awaken/contract/spec";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { parts, text, toolCall } from "../testing/script.ts";
import { type ScriptedProvider, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply } from "../tool/reply.ts";

const log = { warn() {}, error() {} };

describe("a pool", () => {
  const question = (index: number) => ({ role: "user", content: [{ type: "text", text: `${index} ${"x".repeat(4_000)}` }] }) as const;
  const input = Array.from({ length: 20 }, (_, index) => question(index));

  /** How many of twenty messages of a thousand tokens each reach the model. */
  async function shown(...members: readonly Partial<ModelSpecInput>[]): Promise<number | undefined> {
    const model = scripted([text("ok")]);
    const ids = members.map((_, index) => `m${index}`);
    const runtime = createRuntime({
      providers: { p: model },
      models: Object.fromEntries(members.map((member, index) => [`m${index}`, { provider: "p", model: `unheard-of-${index}`, ...member }])),
      pools: { pool: { members: ids.map((id) => ({ model: id })) } },
      agents: { agent: { model: "pool", contextPolicy: { maxContextTokens: 17_000, maxOutputTokens: 900, minRecentMessages: 1 } } },
      log,
    });
    expect(await runtime.run({ agent: "agent", thread: "t", input })).toMatchObject({ text: "ok" });
    return model.requests[0]?.messages.length;
  }

  it("inference 40: holds as much as the smallest of its members, wherever that stands, and only if all say how much", async () => {
    const small = { contextWindow: 6_000 };
    const large = { contextWindow: 12_000 };
    const huge = { contextWindow: 500_000 };
    expect(await shown({}, {})).toBe(16);
    for (const members of [
      [small, large, huge],
      [large, small, huge],
      [huge, large, small],
    ])
      expect(await shown(...members)).toBe(5);
    expect(await shown(large, huge)).toBe(11);
    // Who does not say it may hold less than anybody: nothing is known, whoever else says it.
    for (const members of [
      [{}, small, large],
      [small, {}, large],
      [small, large, {}],
    ])
      expect(await shown(...members)).toBe(16);
    // A window that only our table knows of counts as well.
    expect(await shown(huge, { model: "gpt-3.5-turbo" })).toBe(15);
    // The longest answer is the shortest of theirs, too.
    expect(await shown({ ...small, maxOutputTokens: 4_000 }, { ...small, maxOutputTokens: 100 })).toBe(5);
  });

  it("inference 40: is not asked for another upstream model, and then nobody is", async () => {
    const members: ScriptedProvider[] = [scripted([text("a")]), scripted([text("b")])];
    const [a, b] = members;
    if (a === undefined || b === undefined) throw new Error("two members");
    const runtime = createRuntime({
      providers: { a, b },
      models: { m1: { provider: "a", model: "up-a" }, m2: { provider: "b", model: "up-b" } },
      pools: { pool: { members: [{ model: "m1" }, { model: "m2" }] } },
      agents: { pooled: { model: "pool" }, single: { model: "m1" } },
      log,
    });
    const overrides = { upstreamModel: "up-a" };
    const refused = await runtime.run({ agent: "pooled", thread: "t", input: "hi", overrides });
    expect(refused).toMatchObject({ status: "failed", error: { code: "invalid_activation", message: expect.stringContaining("up-a") } });
    expect([a.requests.length, b.requests.length]).toEqual([0, 0]);
    const other = await runtime.run({ agent: "single", thread: "s", input: "hi", overrides: { upstreamModel: "up-b" } });
    expect(other).toMatchObject({ text: "a" });
    expect(a.requests[0]?.model).toBe("up-b");
  });
});

describe("a vendor that asks for hours", () => {
  it("inference 45: is left by a pool in the middle of its answer, and fails an agent that has nobody else, at once", async () => {
    const HOURS = 7_200_000;
    const spent = new InferenceError({ type: "rate-limited", message: "spent", retryAfterMs: HOURS });
    const midway = () => scripted([parts({ type: "text-delta", delta: "Hel" }, { type: "throw", error: spent })]);
    const clock = fakeClock();
    const runtime = createRuntime({
      providers: { a: midway(), b: scripted([text("lo")]), c: midway() },
      models: { m1: { provider: "a", model: "up" }, m2: { provider: "b", model: "up" }, m3: { provider: "c", model: "up" } },
      pools: { pool: { members: [{ model: "m1" }, { model: "m2", role: "failover-only" }] } },
      agents: { pooled: { model: "pool" }, single: { model: "m3" } },
      log,
      clock,
    });
    expect(await runtime.run({ agent: "pooled", thread: "t", input: "hi" })).toMatchObject({ text: "Hello" });
    const failed = await runtime.run({ agent: "single", thread: "s", input: "hi" });
    expect(failed).toMatchObject({ status: "failed", text: "Hel", error: { code: "inference_rate_limited" } });
    expect(clock.now()).toBe(0);
  });
});

describe("a model that does not read pictures", () => {
  const image = { type: "image", source: { type: "base64", mediaType: "image/png", data: "aGk=" } } as const;
  const look = defineTool({
    id: "look",
    description: "takes a picture",
    input: z.object({}),
    execute: () => reply("a picture", { media: [image] }),
  });

  function open(model: ModelSpecInput, steps: Parameters<typeof scripted>[0], discovered?: ReadonlyMap<string, object>) {
    const provider = scripted(steps);
    const providers: RuntimeInit["providers"] = { p: discovered === undefined ? provider : { provider, discovered } };
    const runtime = createRuntime({ providers, models: { m: model }, agents: { agent: { model: "m" } }, tools: [look], log });
    return { runtime, provider, ask: (input: string) => runtime.run({ agent: "agent", thread: "t", input }) };
  }

  const reads = { modalities: { input: ["text" as const], output: ["text" as const] } };
  const refusal = { status: "failed", error: { code: "inference_invalid_request", message: expect.stringContaining("image") } };

  it("inference 42: is not sent one that a tool result holds, now or in a later run of the thread", async () => {
    const { ask, provider } = open({ provider: "p", model: "up", ...reads }, [toolCall("look", {})]);
    expect(await ask("look around")).toMatchObject(refusal);
    expect(provider.requests).toHaveLength(1);
    expect(await ask("and now?")).toMatchObject(refusal);
    expect(await ask("please")).toMatchObject(refusal);
    expect(provider.requests).toHaveLength(1);
  });

  it("inference 42: also when only its provider said so", async () => {
    const discovered = new Map([["up", reads]]);
    const { ask, provider } = open({ provider: "p", model: "up" }, [toolCall("look", {})], discovered);
    expect(await ask("look around")).toMatchObject(refusal);
    expect(provider.requests).toHaveLength(1);
  });

  it("inference 42: is sent one when only our table says that it does not, or when it reads them", async () => {
    const models: ModelSpecInput[] = [
      { provider: "p", model: "o3-mini" },
      { provider: "p", model: "up", modalities: { input: ["text", "image"], output: ["text"] } },
    ];
    for (const model of models) {
      const { ask, provider } = open(model, [toolCall("look", {}), text("a tree")]);
      expect(await ask("look around")).toMatchObject({ status: "done", text: "a tree" });
      const last = provider.requests[1]?.messages.at(-1);
      expect(last?.content).toContainEqual(image);
      expect(last === undefined ? "" : messageText(last)).toContain("a picture");
    }
  });
});
