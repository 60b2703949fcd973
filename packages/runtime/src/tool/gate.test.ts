import { decisionId, dispatchId, type ToolResult } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { compileEnv } from "../plugin/compile-env.ts";
import { callOf, plugin, recordedLog, sceneOf, thrownBy } from "../plugin/engine-bench.test-support.ts";
import { allow } from "./allow.ts";
import type { Gate, GateEntry, GateInput, PolicyInput } from "./gate.ts";
import { policyGate } from "./policy-gate.ts";
import { resolveGates } from "./resolve-gates.ts";
import { answer, ask, block, deny, suspend, type Verdict } from "./verdict.ts";

const input = (more: Partial<GateInput> = {}): GateInput => ({
  ...sceneOf(),
  state: { revision: 0, get: () => undefined },
  phase: "toolGate",
  call: callOf("pay", { cents: 5 }),
  toolKind: "edit",
  resume: undefined,
  ...more,
});

const gates = (...all: readonly (Gate | Verdict | undefined)[]): GateEntry[] =>
  all.map((one, index) => ({ plugin: `p${index + 1}`, gate: typeof one === "function" ? one : () => one }));

async function resolved(...all: readonly (Gate | Verdict | undefined)[]) {
  const log = recordedLog();
  return { verdict: await resolveGates(gates(...all), input(), log), errors: log.errors };
}

const stop = block("stop");
const wait = suspend({ action: "approve" });
const given = answer({ done: true });

describe("resolveGates", () => {
  it("core-execution 29: of block, suspend and answer, block wins in any order", async () => {
    for (const order of [
      [stop, wait, given],
      [given, wait, stop],
      [wait, stop, given],
      [given, stop, wait],
    ]) {
      expect(await resolved(...order)).toEqual({ verdict: stop, errors: [] });
    }
    expect((await resolved(given, wait)).verdict).toEqual(wait);
    expect((await resolved(wait, given)).verdict).toEqual(wait);
  });

  it("a refusal of the call is stronger than a question and than an answer, and weaker than the end of the run", async () => {
    const no = deny("not that");
    expect((await resolved(given, wait, no)).verdict).toEqual(no);
    expect((await resolved(no, wait, given)).verdict).toEqual(no);
    expect((await resolved(no, stop)).verdict).toEqual(stop);
  });

  it("of a call that was approved, questions are answered, and whatever else was said still stands", async () => {
    const decision = { action: "approve", id: decisionId("d"), decidedAt: 0 } as const;
    const resume = { suspension: { action: "approve" }, decision };
    const after = (...all: readonly Verdict[]) => resolveGates(gates(...all), input({ resume }), recordedLog());
    expect(await after(wait)).toBeUndefined();
    expect(await after(wait, given)).toEqual(given);
    expect(await after(wait, deny("no"))).toEqual(deny("no"));
  });

  it("core-execution 29: of two equals the first is kept, and the mistake is logged", async () => {
    const second = block("second");
    const { verdict, errors } = await resolved(allow(), stop, given, second);
    expect(verdict).toEqual(stop);
    expect(errors).toEqual(["gates of plugins 'p2' and 'p4' both block the tool 'pay'; the first is kept"]);
    expect((await resolved(wait, suspend({ action: "other" }))).verdict).toEqual(wait);
    expect((await resolved(given, answer(2))).verdict).toEqual(given);
  });

  it("does not intercept when nobody objects", async () => {
    expect(await resolved()).toEqual({ verdict: undefined, errors: [] });
    expect(
      await resolved(
        undefined,
        allow(),
        () => {},
        async () => undefined,
      ),
    ).toEqual({ verdict: undefined, errors: [] });
  });

  it("asks one after the other, in order, all of them, with the same input", async () => {
    const seen: string[] = [];
    const inputs = new Set<GateInput>();
    const slow =
      (name: string, ms: number): Gate =>
      async (one) => {
        inputs.add(one);
        seen.push(`${name} begins`);
        await new Promise((resolve) => setTimeout(resolve, ms));
        seen.push(`${name} ends`);
        return name === "a" ? stop : undefined;
      };
    expect((await resolved(slow("a", 5), slow("b", 0))).verdict).toEqual(stop);
    expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends"]);
    expect(inputs.size).toBe(1);
  });

  it("fails closed when a gate throws or says something that nobody understands", async () => {
    const thrown = await thrownBy(() =>
      resolved(allow(), () => {
        throw new Error("broken");
      }),
    );
    expect(thrown).toMatchObject({ code: "hook_failed", details: { plugin: "p2", phase: "toolGate" }, cause: new Error("broken") });
    for (const odd of [{ type: "refuse" }, true, "block", {}, { type: "constructor" }]) {
      const untyped: Gate = () => JSON.parse(JSON.stringify(odd));
      expect((await thrownBy(() => resolved(untyped))).code).toBe("hook_failed");
      expect((await thrownBy(() => resolved(stop, untyped))).code).toBe("hook_failed");
    }
  });
});

describe("policies", () => {
  it("get the flat facts of the call", async () => {
    let seen: PolicyInput | undefined;
    const gate = policyGate((facts) => {
      seen = facts;
      return allow();
    });
    const { identity } = sceneOf();
    await gate(input({ identity: { ...identity, dispatchId: dispatchId("d1"), runMode: "scheduled", adapter: "mcp" } }));
    expect(seen).toEqual({
      threadId: "t1",
      runId: "r1",
      dispatchId: "d1",
      runMode: "scheduled",
      adapter: "mcp",
      toolName: "pay",
      toolKind: "edit",
      input: { cents: 5 },
    });
  });

  it("allow and audit mean no intercept; the rest is a verdict like any other", async () => {
    const results: ToolResult = { type: "success", data: 1 };
    expect(
      await resolveGates(
        gates(
          policyGate(() => ({ type: "audit" })),
          policyGate(allow),
        ),
        input(),
        recordedLog(),
      ),
    ).toBeUndefined();
    for (const verdict of [stop, wait, { type: "answer", result: results } as const]) {
      expect(await resolveGates(gates(policyGate(async () => verdict)), input(), recordedLog())).toEqual(verdict);
    }
  });

  it("take part with gates in the order of registration, and fail closed", async () => {
    const { gates: compiled } = compileEnv({
      plugins: [
        plugin("p", (r) => {
          r.policy(() => block("policy"));
          r.gate(() => block("gate"));
        }),
      ],
    });
    const log = recordedLog();
    expect(await resolveGates(compiled, input(), log)).toEqual(block("policy"));
    expect(log.errors).toHaveLength(1);
    const untyped = policyGate(() => JSON.parse("null"));
    expect((await thrownBy(() => resolveGates(gates(untyped), input(), log))).code).toBe("hook_failed");
  });
});

describe("verdicts", () => {
  it("are plain data", () => {
    expect(allow()).toEqual({ type: "allow" });
    expect(block("no")).toEqual({ type: "block", reason: "no" });
    expect(ask("Refund 200?")).toEqual({ type: "suspend", suspension: { action: "approve", message: "Refund 200?" } });
    expect(ask("Refund?", { action: "tool:refund", parameters: { n: 1 } })).toEqual({
      type: "suspend",
      suspension: { action: "tool:refund", message: "Refund?", parameters: { n: 1 } },
    });
    expect(answer({ a: 1 })).toEqual({ type: "answer", result: { type: "success", data: { a: 1 } } });
    expect(answer(1, "one")).toEqual({ type: "answer", result: { type: "success", data: 1, message: "one" } });
  });
});
