import {
  type AgentEvent,
  DEFAULT_SCOPE,
  type Decision,
  type DecisionAction,
  decisionId,
  type InferenceOverride,
  type Log,
  type Message,
  messageId,
  type Provider,
  type RunId,
  runId,
  type Schema,
  type ToolDescriptor,
  threadId,
  toJsonSchema,
  validate,
} from "@awaken/contract";
import { type LocalAgentSpecInput, parseAgentSpec } from "@awaken/contract/spec";
import { loopActions } from "../builtin/loop-actions/loop-actions.ts";
import { stopPolicy } from "../builtin/stop-policy/stop-policy.ts";
import type { CommitStore } from "../commit/commit-store.ts";
import type { Holding } from "../commit/holding.ts";
import { Landing } from "../commit/land.ts";
import { DEFAULT_INFERENCE_POLICY } from "../inference/infer.ts";
import type { Activation, RunHandles } from "../loop/activation.ts";
import type { AddressedDecision } from "../loop/decisions/addressed-decision.ts";
import { keepForStep } from "../loop/decisions/keep-for-step.ts";
import { takeSeededDecisions } from "../loop/decisions/take-decisions.ts";
import { isLeft, type LoopResult } from "../loop/finish.ts";
import { openRun } from "../loop/open-run.ts";
import { openSeldom } from "../loop/open-seldom.ts";
import { runLoop } from "../loop/run-loop.ts";
import type { RunPlan } from "../loop/run-plan.ts";
import { toPlan } from "../loop/to-plan.ts";
import { compileEnv } from "../plugin/compile-env.ts";
import type { Plugin } from "../plugin/define-plugin.ts";
import type { InboxItem } from "../plugin/inbox.ts";
import { isPlainState } from "../state/plain-state.ts";
import { Bounds, DEFAULT_LIMITS } from "../stream/bounds.ts";
import type { Clock } from "../stream/clock.ts";
import { Door } from "../stream/door.ts";
import type { Ids } from "../stream/ids.ts";
import { Listeners } from "../stream/listeners.ts";
import { Queue } from "../stream/queue.ts";
import type { Tool } from "../tool/tool.ts";
import { EventChecker } from "./event-checker.ts";
import { countingIds, fakeClock } from "./fake-clock.ts";
import { NO_CHILDREN, NO_TASKS } from "./no-family.ts";
import { type ScriptedProvider, type ScriptStep, scripted } from "./scripted.ts";
import { ThreadLog } from "./thread-log.ts";

export interface ScriptedAgent {
  readonly spec?: LocalAgentSpecInput;
  readonly model: Provider;
  readonly tools?: readonly Tool[];
  readonly plugins?: readonly Plugin[];
  readonly runtimePlugins?: readonly Plugin[];
}

/** A plan without a registry: one agent, its tools, and the plugins that every run has. */
export function planFor(agent: ScriptedAgent, id = "agent"): RunPlan {
  const spec = parseAgentSpec(id, agent.spec ?? {});
  if (spec.type !== "local") throw new TypeError("a scripted agent is local");
  const env = compileEnv({
    plugins: agent.plugins ?? [],
    runtimePlugins: [loopActions(), stopPolicy(spec.maxSteps, spec.stopConditions), ...(agent.runtimePlugins ?? [])],
    sections: spec.sections,
    filter: spec.activePlugins,
  });
  return toPlan({
    agent: spec,
    env,
    provider: agent.model,
    model: {
      provider: "scripted",
      upstream: spec.model === "" ? "scripted-model" : spec.model,
      maxOutputTokens: undefined,
      contextWindow: undefined,
      specs: [],
    },
    tools: new Map([...(agent.tools ?? []), ...env.tools.values()].map((tool) => [tool.id, tool])),
    policy: { ...DEFAULT_INFERENCE_POLICY, maxContinuationRetries: spec.maxContinuationRetries },
  });
}

export interface ScriptedRunInit extends Omit<ScriptedAgent, "model"> {
  readonly turns?: readonly ScriptStep[];
  readonly model?: Provider;
  /** Other agents that a handoff may go to. */
  readonly agents?: { readonly [id: string]: ScriptedAgent };
  readonly input?: string | readonly Message[];
  /** Goes on with this run of the thread. */
  readonly resume?: RunId;
  readonly thread?: ThreadLog;
  readonly decisions?: readonly AddressedDecision[];
  readonly overrides?: InferenceOverride;
  readonly frontendTools?: readonly ToolDescriptor[];
  readonly output?: Schema;
  readonly outputRetries?: number;
  readonly origin?: "user" | "subagent";
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly log?: Log;
  readonly inbox?: Queue<InboxItem>;
  /** Where commits go instead of right into the thread. */
  readonly store?: CommitStore;
  readonly holding?: Holding;
  /** `keep`: decisions about calls of the step that do not wait yet; false when the run takes none any more. */
  readonly onEvent?: (event: AgentEvent, keep: (batch: readonly AddressedDecision[]) => boolean) => void;
}

export interface ScriptedRun {
  readonly events: readonly AgentEvent[];
  readonly result: LoopResult;
  readonly model: ScriptedProvider | undefined;
  readonly thread: ThreadLog;
}

let runs = 0;

const SILENT: Log = { warn() {}, error() {} };

export const userMessage = (text: string, id: string): Message => ({ id: messageId(id), role: "user", content: [{ type: "text", text }] });

/** `decision("approve")`, `decision("deny", { reason })`, `decision("answer", { result })`; the id makes it idempotent. */
export function decide(target: string, action: DecisionAction, id = `decision-of-${target}`): AddressedDecision {
  const decision: Decision = { ...action, id: decisionId(id), decidedAt: 0 };
  return { target, isCall: true, decision };
}

function inputOf(init: ScriptedRunInit, ids: Ids): readonly Message[] {
  if (typeof init.input === "string") return [userMessage(init.input, ids())];
  return init.input ?? (init.resume === undefined ? [userMessage("hello", ids())] : []);
}

function activationOf(init: ScriptedRunInit, provider: Provider, thread: ThreadLog, ids: Ids): Activation {
  const { output, resume } = init;
  return {
    identity: {
      threadId: threadId("thread"),
      runId: resume ?? runId(`run-${runs}`),
      agentId: "agent",
      origin: init.origin ?? "user",
      runMode: resume === undefined ? "foreground" : "resume",
      adapter: "internal",
    },
    principal: undefined,
    plan: planFor({ ...init, model: provider }),
    history: thread.history(resume),
    input: inputOf(init, ids),
    options: {
      frontendTools: init.frontendTools ?? [],
      ...(init.overrides === undefined ? {} : { overrides: init.overrides }),
      ...(output === undefined ? {} : { output: toJsonSchema(output) }),
      ...(init.outputRetries === undefined ? {} : { outputRetries: init.outputRetries }),
    },
    checkOutput: output === undefined ? undefined : (value) => validate(output, value),
    isContinuation: resume !== undefined,
    seededDecisions: init.decisions ?? [],
  };
}

async function replan(init: ScriptedRunInit, agentId: string): Promise<RunPlan> {
  const agent = init.agents?.[agentId];
  if (agent === undefined) throw new Error(`agent not found: ${agentId}`);
  return planFor(agent, agentId);
}

function landingOf({ store, resume, holding }: ScriptedRunInit, activation: Activation, thread: ThreadLog, clock: Clock): Landing {
  const { identity, input, history } = activation;
  const { threadId: _t, runId: _r, agentId: _a, ...trace } = identity;
  const resumed = resume === undefined ? undefined : thread.record(resume);
  return new Landing({
    store: store ?? thread,
    identity,
    activation: { intent: { type: "new-intent" }, options: { frontendTools: [] }, trace },
    input: input.map(({ id }) => id),
    resumed,
    messageCount: history.messageCount,
    latestAt: 0,
    clock,
    holding,
  });
}

/** Runs the loop once over a script and checks the order of its events. */
export async function runScripted(init: ScriptedRunInit): Promise<ScriptedRun> {
  runs += 1;
  const clock = init.clock ?? fakeClock();
  const model = init.model === undefined ? scripted(init.turns ?? [], { clock }) : undefined;
  const thread = init.thread ?? new ThreadLog();
  const ids = init.ids ?? countingIds(`m${runs}`);
  const checker = new EventChecker();
  const events: AgentEvent[] = [];
  const listeners = new Listeners<AgentEvent>();
  listeners.add((event) => {
    events.push(event);
    checker.see(event);
    init.onEvent?.(event, (batch) => keepForStep(ctx, batch));
  });
  const activation = activationOf(init, init.model ?? model ?? scripted([]), thread, ids);
  const seldom = new Door(openSeldom);
  // As whatever loads a thread does.
  const { threadState } = activation.history;
  if (init.resume !== undefined || (threadState !== undefined && !isPlainState(threadState))) await seldom.open();
  const signal = init.signal ?? new AbortController().signal;
  const handles: RunHandles = {
    scopeId: DEFAULT_SCOPE,
    signal,
    clock,
    bounds: new Bounds(signal, { clock, limits: DEFAULT_LIMITS, cancelGraceMs: 30_000 }),
    ids,
    log: init.log ?? SILENT,
    listeners,
    inbox: init.inbox ?? new Queue(),
    profileStore: undefined,
    cancelGraceMs: 30_000,
    seldom,
    plans: { replan: (agentId) => replan(init, agentId) },
    children: NO_CHILDREN,
    tasks: () => NO_TASKS,
  };
  const ctx = openRun(activation, handles, { landing: landingOf(init, activation, thread, clock) });
  await takeSeededDecisions(ctx, activation);
  const result = await runLoop(ctx);
  if (isLeft(result)) throw new Error("a run that nobody can take over left before its end");
  checker.end();
  return { events, result, model, thread };
}

export const eventTypes = (events: readonly AgentEvent[]): readonly string[] => events.map((event) => event.type);

/** The events that say where a run stands, without deltas and snapshots. */
export function lifecycleTypes(events: readonly AgentEvent[]): readonly string[] {
  const kept = new Set(["run-start", "step-start", "inference-end", "tool-call-end", "tool-call-resumed", "step-end", "run-end"]);
  return eventTypes(events).filter((type) => kept.has(type));
}
