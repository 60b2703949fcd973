import { addContextMessage, command, createRuntime, definePlugin, defineTool, fail, type Plugin } from "@awaken/runtime";
import { scripted, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type ReminderOptions, reminder } from "./reminder.ts";
import type { ReminderRuleInput } from "./section.ts";

const say = (content: string, more: Partial<ReminderRuleInput["message"]> = {}): ReminderRuleInput["message"] => ({
  target: "suffix-system",
  content,
  ...more,
});

const weather = defineTool({
  id: "weather",
  description: "",
  input: z.object({ city: z.string() }),
  execute: ({ city }) =>
    city === "Atlantis" ? fail("not_found", "open /maps/atlantis: denied") : { city, tempC: 21, days: [{ sky: "grey" }, { sky: "blue" }] },
});

function open(
  turns: Parameters<typeof scripted>[0],
  rules: readonly ReminderRuleInput[],
  options: ReminderOptions = {},
  others: readonly Plugin[] = [],
) {
  const model = scripted(turns);
  const runtime = createRuntime({
    providers: { main: model },
    models: { fast: { provider: "main", model: "m" } },
    agents: {
      assistant: {
        model: "fast",
        plugins: ["reminder", ...others.map(({ id }) => id)],
        sections: { reminder: JSON.parse(JSON.stringify({ rules })) },
      },
    },
    tools: [weather],
    plugins: [reminder(options), ...others],
    store: memoryStore(),
    log: { warn() {}, error() {} },
  });
  /** The system messages of a request. */
  const told = (request: number) =>
    (model.requests[request]?.messages ?? []).flatMap(({ role, content }) =>
      role === "system" ? content.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [],
    );
  return { runtime, told };
}

const oslo = toolCall("weather", { city: "Oslo" });
const atlantis = toolCall("weather", { city: "Atlantis" });

/** What the model is told after one call. */
async function toldAfter(call: typeof oslo, ...rules: ReminderRuleInput[]): Promise<readonly string[]> {
  const { runtime, told } = open([call, text("ok")], rules);
  expect((await runtime.run({ input: "go" })).status).toBe("done");
  return told(1);
}

describe("reminders", () => {
  test("extensions 27: all matching rules fire, each with key `reminder.<name>`", async () => {
    const rules: ReminderRuleInput[] = [
      { tool: "weather", message: say("one") },
      { name: "two", tool: "w*(Oslo)", message: say("two") },
      { tool: 'weather(city != "Oslo")', message: say("never") },
      { tool: "other", message: say("never") },
    ];
    const both = toolCalls([
      { name: "weather", input: { city: "Oslo" } },
      { name: "weather", input: { city: "Oslo" } },
    ]);
    const { runtime, told } = open([both, oslo, text("ok"), text("again")], rules, { rules: [{ tool: "weather", message: say("first") }] });
    await runtime.run({ thread: "t", input: "go" });
    // One message for each key, whoever matched how often; it is told once.
    expect([told(0), told(1).toSorted(), told(2).toSorted()]).toEqual([[], ["first", "one", "two"], ["first", "one", "two"]]);
    await runtime.run({ thread: "t", input: "more" });
    expect(told(3)).toEqual([]);
  });

  test("extensions 27: messages of one key take each other's place, those of other keys do not", async () => {
    const named = (name: string, content: string): ReminderRuleInput => ({ name, tool: "weather", message: say(content) });
    expect(await toldAfter(oslo, named("b", "2"), named("a", "1"))).toEqual(["1", "2"]);
    expect(() => open([], [named("a", "1"), named("a", "2")])).toThrow("two rules are called 'a'");
  });

  test("extensions 28: `cooldownSteps: 3` suppresses for steps 2 and 3 and injects again at step 4; changed content injects at once", async () => {
    const rule = { tool: "weather", message: say("look", { cooldownSteps: 3 }) };
    const { runtime, told } = open([oslo, oslo, oslo, oslo, oslo, text("ok")], [rule]);
    await runtime.run({ input: "go" });
    // The first request that can have it is the second one.
    expect([1, 2, 3, 4, 5].map((request) => told(request).length)).toEqual([1, 0, 0, 1, 0]);
    const sunny: ReminderRuleInput = { name: "sky", tool: "weather(Oslo)", message: say("sun", { cooldownSteps: 3 }) };
    expect(await toldAfter(oslo, sunny)).toEqual(["sun"]);
  });

  test("extensions 28: another content of the same reminder is told at once", async () => {
    const louder = definePlugin({
      id: "louder",
      register(r) {
        r.hook("afterToolExecute", ({ call }) =>
          JSON.stringify(call.input).includes("Rome")
            ? command().schedule(addContextMessage, {
                key: "reminder.x",
                role: "system",
                target: "suffix-system",
                content: "loud",
                cooldownSteps: 9,
              })
            : undefined,
        );
      },
    });
    const rules = [{ name: "x", tool: "weather(Oslo)", message: say("calm", { cooldownSteps: 9 }) }];
    const { runtime, told } = open([oslo, oslo, toolCall("weather", { city: "Rome" }), text("ok")], rules, {}, [louder]);
    await runtime.run({ input: "go" });
    expect([told(1), told(2), told(3)]).toEqual([["calm"], [], ["loud"]]);
  });

  test('extensions 29: `status: "error"` with a `content` glob matches the error message text', async () => {
    const rule = (content: string, status: "error" | "success" | "any" = "error"): ReminderRuleInput => ({
      name: `${status} ${content}`,
      tool: "*",
      output: { status, content },
      message: say(content),
    });
    expect(await toldAfter(atlantis, rule("*denied*"), rule("denied"), rule("*denied*", "success"), rule("*atlantis*", "any"))).toEqual([
      "*atlantis*",
      "*denied*",
    ]);
    expect(await toldAfter(oslo, rule("*denied*"), rule('*"tempC":21*', "success"))).toEqual(['*"tempC":21*']);
  });

  test("conditions on fields take the whole path language, and are false without data", async () => {
    const rule = (name: string, ...fields: { path: string; op?: "exact" | "not-exact" | "regex"; value: string }[]): ReminderRuleInput => ({
      name,
      tool: "weather",
      output: { content: { fields } },
      message: say(name),
    });
    const rules = [
      rule("glob", { path: "city", value: "O*" }),
      rule("deep", { path: "days[*].sky", op: "exact", value: "blue" }, { path: "tempC", op: "regex", value: "^2" }),
      rule("one of two", { path: "city", value: "O*" }, { path: "tempC", op: "exact", value: "22" }),
      rule("missing", { path: "wind", op: "not-exact", value: "strong" }),
    ];
    expect(await toldAfter(oslo, ...rules)).toEqual(["deep", "glob"]);
    expect(await toldAfter(atlantis, ...rules)).toEqual([]);
  });

  test("extensions 30: an unknown `target` or `op` fails activation", () => {
    const odd = (json: string) => open([], [JSON.parse(json)]);
    expect(() => odd('{ "tool": "x", "message": { "target": "footer", "content": "" } }')).toThrow(/reminder[\s\S]*target/);
    const op =
      '{ "tool": "x", "output": { "content": { "fields": [{ "path": "a", "op": "like", "value": "b" }] } }, "message": { "target": "system", "content": "" } }';
    expect(() => odd(op)).toThrow(/reminder[\s\S]*op/);
    expect(() => open([], [{ tool: "x(", message: say("") }])).toThrow(/rule 0 'rule-0-x\(' — parse error at 1/);
    expect(() => open([], [{ tool: "x", output: { content: { fields: [{ path: "a..b", value: "c" }] } }, message: say("") }])).toThrow(
      "parse error at 1",
    );
    expect(() => open([], [{ tool: "x", output: { content: "[" }, message: say("") }])).toThrow("parse error at 0");
    expect(() => reminder({ rules: [JSON.parse('{ "tool": "x" }')] })).toThrow("message");
  });
});
