import type { JsonValue } from "@awaken/contract";
import { text, toolCall } from "@awaken/runtime/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileDefinition } from "./definition.ts";
import { isShut, joinLayers, judge, layerOf } from "./evaluate.ts";
import { openDesk } from "./harness.test-support.ts";
import { type Policy, type PolicyUpdate, permissionOverrides, permissionPolicy } from "./policy.ts";
import { BEHAVIORS, type Behavior } from "./section.ts";

/** A rule with the sets of tools and inputs that it is about written out: no pattern is read by the second evaluator. */
interface Known {
  readonly pattern: string;
  /** Equal for patterns that are one rule. */
  readonly key: string;
  readonly isAbout: (tool: string) => boolean;
  readonly fits: (input: { readonly [name: string]: JsonValue }) => boolean;
  readonly isBare: boolean;
}

const TOOLS = ["Bash", "Bash2", "read_file", "read_dir", "edit"];
const VALUES = ["ls", "rm x", "rm -rf /", "npm test", ""];

const tools: readonly (readonly [string, (tool: string) => boolean])[] = [
  ["Bash", (tool) => tool === "Bash"],
  ["read_file", (tool) => tool === "read_file"],
  ["edit", (tool) => tool === "edit"],
  ["Bash*", (tool) => tool.startsWith("Bash")],
  ["read_*", (tool) => tool.startsWith("read_")],
  ["*", () => true],
  ["/^read/", (tool) => tool.startsWith("read")],
  ["/d/", (tool) => tool.includes("d")],
];

const args: readonly (readonly [text: string, canonical: string, fits: Known["fits"]])[] = [
  ["", "", () => true],
  ["(*)", "", () => true],
  ["(rm *)", "(rm *)", (input) => Object.keys(input).length === 1 && String(Object.values(input)[0]).startsWith("rm ")],
  ['(command = "ls")', '(command = "ls")', ({ command }) => command === "ls"],
  ['( command~"rm*" )', '(command ~ "rm*")', ({ command }) => command !== undefined && String(command).startsWith("rm")],
  ['(command != "ls")', '(command != "ls")', ({ command }) => command !== undefined && command !== "ls"],
  [
    '(command =~ "^rm", cwd = "/")',
    '(command =~ "^rm", cwd = "/")',
    ({ command, cwd }) => String(command ?? "").startsWith("rm") && cwd === "/",
  ],
];

const known: fc.Arbitrary<Known> = fc
  .tuple(fc.constantFrom(...tools), fc.constantFrom(...args))
  .map(([[tool, isAbout], [own, canonical, fits]]) => ({
    pattern: tool + own,
    key: tool + canonical,
    isAbout,
    fits,
    isBare: canonical === "",
  }));

const behavior = fc.constantFrom(...BEHAVIORS);
const rules = fc.array(fc.tuple(known, behavior), { maxLength: 6 });
const input = fc.oneof(
  fc.record({ command: fc.constantFrom(...VALUES) }),
  fc.record({ command: fc.constantFrom(...VALUES), cwd: fc.constantFrom("/", "/tmp") }),
  fc.constant({}),
);

type Listed = readonly (readonly [Known, Behavior])[];

/** As the rules are told to people: one list after the other, and no cleverness. */
function naive(
  definition: Listed,
  thread: Listed,
  run: Listed,
  fallback: Behavior,
  tool: string,
  given: { readonly [name: string]: JsonValue },
): Behavior {
  let all: (readonly [Known, Behavior])[] = [...definition];
  for (const layer of [thread, run]) {
    for (const [rule, what] of layer) {
      all = all.filter(([other, before]) => before === "deny" || other.key !== rule.key);
      all.push([rule, what]);
    }
  }
  const said = all.filter(([rule]) => rule.isAbout(tool) && rule.fits(given)).map(([, what]) => what);
  if (said.includes("deny")) return "deny";
  if (said.includes("allow")) return "allow";
  return said.includes("ask") ? "ask" : fallback;
}

const applied = (key: typeof permissionPolicy, updates: readonly PolicyUpdate[]): Policy =>
  updates.reduce((policy, update) => key.apply(policy, update), key.initial());

const setRules = (listed: Listed): PolicyUpdate[] => listed.map(([{ pattern }, what]) => ({ type: "set-rule", pattern, behavior: what }));

/** Within one layer a rule takes the place of the one with its key, whatever that one said. */
const lastOf = (listed: Listed): Listed => [...new Map(listed.map((one) => [one[0].key, one])).values()];

const definitionOf = (listed: Listed, fallback: Behavior) =>
  compileDefinition({ defaultBehavior: fallback, rules: listed.map(([{ pattern }, what]) => ({ tool: pattern, behavior: what })) });

describe("the evaluator", () => {
  test("10,000 random rule sets and calls are judged as a second, naive evaluator judges them; a deny never vanishes", () => {
    fc.assert(
      fc.property(
        rules,
        rules,
        rules,
        behavior,
        fc.option(behavior),
        fc.constantFrom(...TOOLS),
        input,
        (definition, thread, run, fallback, told, tool, given) => {
          const updates: PolicyUpdate[] = [
            ...setRules(thread),
            ...(told === null ? [] : [{ type: "set-default", behavior: told } as const]),
          ];
          const joined = joinLayers(
            definitionOf(definition, fallback),
            layerOf(applied(permissionPolicy, updates)),
            layerOf(applied(permissionOverrides, [...setRules(run), { type: "set-default", behavior: "allow" }])),
          );
          const judged = judge(joined, tool, given).behavior;
          expect(judged).toBe(naive(definition, lastOf(thread), lastOf(run), told ?? fallback, tool, given));
          const isDenied = [...definition, ...lastOf(thread)].some(
            ([rule, what]) => what === "deny" && rule.isAbout(tool) && rule.fits(given),
          );
          if (isDenied) expect(judged).toBe("deny");
          // What is hidden could not have been called.
          if (isShut(joined, tool)) expect(judged).toBe("deny");
        },
      ),
      { numRuns: 10_000 },
    );
  });

  test("a run does what the naive evaluator says: the call runs, waits, or is refused", async () => {
    const section = fc.tuple(rules, behavior, fc.constantFrom(...VALUES));
    await fc.assert(
      fc.asyncProperty(section, async ([definition, fallback, command]) => {
        const listed = definition.map(([{ pattern }, what]) => ({ tool: pattern, behavior: what }));
        const desk = openDesk([toolCall("Bash", { command }), text("ok")], { section: { defaultBehavior: fallback, rules: listed } });
        const { status } = await desk.runtime.run({ input: "go" });
        const expected = naive(definition, [], [], fallback, "Bash", { command });
        expect([status, desk.ran.length]).toEqual([expected === "ask" ? "waiting" : "done", expected === "allow" ? 1 : 0]);
      }),
      { numRuns: 100 },
    );
  });
});
