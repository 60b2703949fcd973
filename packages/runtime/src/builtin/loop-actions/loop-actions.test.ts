import { DEFAULT_SCOPE, type Log, runId, threadId } from "@awaken/contract";
import { type LocalAgentSpec, parseAgentSpec } from "@awaken/contract/spec";
import { describe, expect, test } from "vitest";
import { failedActions } from "../../phase/action-queue.ts";
import { type Command, command } from "../../phase/command.ts";
import { PhaseEngine } from "../../phase/engine.ts";
import { compileEnv } from "../../plugin/compile-env.ts";
import { definePlugin, type Plugin } from "../../plugin/define-plugin.ts";
import { boundsOf } from "../../plugin/engine-bench.test-support.ts";
import { addContextMessage, type ContextMessageDraft, excludeTool, includeOnlyTools, setInferenceOverride } from "../../prompt/actions.ts";
import { assemblePrompt } from "../../prompt/assemble.ts";
import { contextThrottle } from "../../prompt/context-throttle.ts";
import type { Prompt } from "../../prompt/request.ts";
import { createProfileAccess } from "../../state/profile.ts";
import { runLifecycle } from "../../state/run-lifecycle.ts";
import { StateStore } from "../../state/store.ts";
import { countingIds, fakeClock } from "../../testing/fake-clock.ts";
import { loopActions } from "./loop-actions.ts";

const log: Log = { warn() {}, error() {} };

function local(): LocalAgentSpec {
  const spec = parseAgentSpec("a", {});
  if (spec.type !== "local") throw new TypeError("a local agent is needed");
  return spec;
}

const tool = (id: string) => ({ id, description: id, parameters: {} });

/** The part of a step that leads to a request, without a model. */
function openSteps(plugins: readonly Plugin[]) {
  const agent = local();
  const env = compileEnv({ plugins, runtimePlugins: [loopActions()] });
  const store = new StateStore(log);
  store.register([runLifecycle, ...env.stateKeys]);
  store.commit(command().update(runLifecycle, { type: "start", runId: runId("r"), at: 0 }));
  const scene = {
    agent,
    scopeId: DEFAULT_SCOPE,
    identity: { threadId: threadId("t"), runId: runId("r"), agentId: "a", origin: "user", runMode: "foreground", adapter: "internal" },
    principal: undefined,
    extras: undefined,
    messages: [],
    signal: new AbortController().signal,
    clock: fakeClock(),
    tools: [],
    profile: createProfileAccess({ store: undefined, keys: new Map() }),
  } as const;
  const engine = new PhaseEngine({ store, table: env, seat: { scene }, log, bounds: boundsOf(scene) });
  const runStep = async (): Promise<Prompt> => {
    await engine.run("beforeInference", { step: 1 });
    const prompt = await assemblePrompt({
      agent,
      model: "m",
      tools: [tool("a"), tool("b"), tool("c")],
      toolIds: ["a", "b", "c"],
      messages: [],
      state: store.snapshot(),
      transforms: env.transforms,
      runOverrides: undefined,
      canOverrideModel: true,
      maxOutputTokens: undefined,
      routing: {},
      responseFormat: undefined,
      run: { ids: countingIds(), madeMessages: undefined },
    });
    if (prompt.cleanup !== undefined) await engine.submit(prompt.cleanup);
    store.commit(command().update(runLifecycle, { type: "step-completed", at: 0 }));
    return prompt;
  };
  return { runStep, store, engine };
}

const texts = ({ request }: Prompt) =>
  request.messages.flatMap((message) => message.content.map((part) => (part.type === "text" ? part.text : "")));

/** Says the same in every step. */
const every = (give: () => Command): Plugin => definePlugin({ id: "test", register: (r) => r.hook("beforeInference", give) });

describe("loop actions", () => {
  test("core-execution 71: with cooldown 3 a repeated message is skipped for 3 steps unless its content changed", async () => {
    let content = "one";
    const message = (): ContextMessageDraft => ({ key: "k", role: "system", target: "suffix-system", content, cooldownSteps: 3 });
    const { runStep, store } = openSteps([every(() => command().schedule(addContextMessage, message()))]);
    const shown: string[][] = [];
    for (let step = 1; step <= 7; step++) {
      if (step === 6) content = "two";
      shown.push(texts(await runStep()));
    }
    expect(shown).toEqual([["one"], [], [], ["one"], [], ["two"], []]);
    expect(store.snapshot().get(contextThrottle)).toMatchObject({ entries: { k: { lastStep: 6 } } });
  });

  test("core-execution 71: without a cooldown a message is repeated always", async () => {
    const message: ContextMessageDraft = { key: "k", role: "system", target: "suffix-system", content: "again" };
    const { runStep } = openSteps([every(() => command().schedule(addContextMessage, message))]);
    expect([texts(await runStep()), texts(await runStep())]).toEqual([["again"], ["again"]]);
  });

  test("a message of the same key replaces the one before", async () => {
    const say = (content: string): ContextMessageDraft => ({ key: "k", role: "user", target: "conversation", content });
    const { runStep } = openSteps([every(() => command().schedule(addContextMessage, say("one")).schedule(addContextMessage, say("two")))]);
    expect(texts(await runStep())).toEqual(["two"]);
  });

  test("core-execution 40: overrides that actions set last for one step, the later one wins per field", async () => {
    const { runStep, engine } = openSteps([]);
    await engine.submit(
      command().schedule(setInferenceOverride, { temperature: 0.1, topP: 0.2 }).schedule(setInferenceOverride, { temperature: 0.3 }),
    );
    expect((await runStep()).request.overrides).toEqual({ temperature: 0.3, topP: 0.2 });
    expect((await runStep()).request.overrides).toBeUndefined();
  });

  test("core-execution 41: filters that actions set hide tools for one step", async () => {
    const { runStep, engine } = openSteps([]);
    await engine.submit(command().schedule(includeOnlyTools, ["a", "b"]).schedule(excludeTool, ["b", "c"]));
    expect((await runStep()).offeredTools).toEqual(["a"]);
    expect((await runStep()).offeredTools).toEqual(["a", "b", "c"]);
  });

  test("a payload that does not fit is put aside, its neighbour still works", async () => {
    const { runStep, store, engine } = openSteps([]);
    // What untyped code can do.
    const wrong = command().schedule(excludeTool, "a");
    wrong.actions.push({ phase: "beforeInference", key: setInferenceOverride.key, payload: { temprature: 1 } });
    await engine.submit(wrong);
    expect((await runStep()).offeredTools).toEqual(["b", "c"]);
    expect(store.snapshot().get(failedActions)).toHaveLength(1);
  });
});
