import {
  freezeJson,
  freezeMade,
  type JsonObject,
  type RunActivation,
  type RunId,
  type RunIdentity,
  type RunIntent,
  type RunOptions,
  type ThreadId,
} from "@awaken/contract";
import { Landing } from "../../commit/land.ts";
import type { Reading } from "../../state/decode-value.ts";
import type { Clock } from "../../stream/clock.ts";
import type { Activation } from "../activation.ts";
import { OUTPUT_RETRIES } from "../output.ts";
import type { LiveOutput } from "../run-context.ts";
import { type RunOrder, traceOf } from "../run-order.ts";
import type { RunPlan } from "../run-plan.ts";
import type { RunRecords } from "../run-records.ts";
import type { LoadedThread } from "./load-thread.ts";

/** What was asked, and who it is asked of. */
export interface Asked {
  readonly order: RunOrder;
  readonly threadId: ThreadId;
  /** Of the new run, if it is one. */
  readonly runId: RunId;
  /** The schema that a run here was asked for, with the code that checks it, as long as that is at hand. */
  readonly outputOf: (run: RunId) => LiveOutput | undefined;
}

/** A run that goes on is who it was. */
function identityOf({ order: { trace, intent }, threadId, runId }: Asked, { agentId, recalled }: LoadedThread): RunIdentity {
  if (recalled === undefined) return { threadId, runId, agentId, origin: "user", runMode: "foreground", adapter: "internal", ...trace };
  const { runMode = intent.type === "resume" ? "resume" : "foreground" } = trace;
  return { ...recalled.identity, agentId, runMode };
}

/** The same for the one on whose behalf it runs: whoever goes on with a run does not lend it his own rights. */
function principalOf({ order }: Asked, { resumed }: LoadedThread): JsonObject | undefined {
  const principal = resumed === undefined ? order.principal : resumed.principal;
  freezeJson(principal);
  return principal;
}

/**
 * What the answer must fit: the schema of the request, or that of the run that goes on. Its own code checks it where it is at hand,
 * elsewhere its JSON Schema, which the record has.
 */
function outputOf({ order, outputOf: live }: Asked, { recalled }: LoadedThread): LiveOutput | undefined {
  const { output: asked } = order.options;
  if (asked !== undefined && order.checkOutput !== undefined) return { schema: asked, check: order.checkOutput };
  return recalled && (live(recalled.identity.runId) ?? recalled.output);
}

/** What the request leaves out is as the record has it. */
function optionsOf({ order: { options } }: Asked, { resumed }: LoadedThread, output: LiveOutput | undefined): RunOptions {
  const stored = resumed?.activation.options;
  const overrides = options.overrides ?? stored?.overrides;
  const frontendContext = options.frontendContext ?? stored?.frontendContext;
  const extras = options.extras ?? stored?.extras;
  const outputRetries = options.outputRetries ?? stored?.outputRetries ?? OUTPUT_RETRIES;
  const asked: { -readonly [Name in keyof RunOptions]: RunOptions[Name] } = {
    frontendTools: options.frontendTools ?? stored?.frontendTools ?? NOTHING,
  };
  if (frontendContext !== undefined) asked.frontendContext = frontendContext;
  if (extras !== undefined) asked.extras = extras;
  if (overrides !== undefined) asked.overrides = overrides;
  if (output !== undefined) asked.output = output.schema;
  if (output !== undefined && outputRetries !== OUTPUT_RETRIES) asked.outputRetries = outputRetries;
  return asked;
}

/** What to run, as data: the order with what the records add to it. */
export function activate(asked: Asked, loaded: LoadedThread, plan: RunPlan, reading: Reading): Activation {
  const { resumed, history, input } = loaded;
  const { intent } = asked.order;
  const output = outputOf(asked, loaded);
  const identity = identityOf(asked, loaded);
  const options = optionsOf(asked, loaded, output);
  // They are on record as they are, and hooks, tools, models and backends are shown them.
  freezeMade(identity);
  freezeMade(options);
  return {
    identity,
    principal: principalOf(asked, loaded),
    plan,
    history,
    input,
    inputModes: asked.order.inputModes,
    options,
    checkOutput: output?.check,
    isContinuation: resumed !== undefined && resumed.status !== "created",
    seededDecisions: intent.type === "resume" ? intent.decisions : NOTHING,
    seed: resumed === undefined ? asked.order.seed : undefined,
    retry: asked.order.retry,
    reading,
  };
}

const NOTHING: readonly never[] = Object.freeze([]);

function intentOf({ intent }: RunOrder, { recalled }: LoadedThread): RunIntent {
  if (intent.type === "resume") return { type: "hitl-resume", runId: intent.runId };
  return recalled?.intent ?? { type: "new-intent" };
}

/** Where the run's commits go, with its activation as the record keeps it. */
export function openLanding(
  { records, clock }: { readonly records: RunRecords; readonly clock: Clock },
  { identity, principal, options }: Activation,
  order: RunOrder,
  loaded: LoadedThread,
): Landing {
  const activation: RunActivation = { intent: intentOf(order, loaded), options, trace: traceOf(identity) };
  return new Landing({
    store: records,
    identity,
    principal,
    activation,
    input: loaded.inputIds,
    resumed: loaded.resumed,
    isNewThread: order.isNewThread === true,
    messageCount: loaded.history.messageCount,
    latestAt: loaded.latestAt,
    clock,
    holding: order.holding,
  });
}
