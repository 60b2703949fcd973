import { type RunActivation, type RunIdentity, type RunIntent, type RunRecord, runIdentity } from "@awaken/contract";
import type { Activation } from "../loop/activation.ts";
import type { OutputSpec } from "../loop/run-context.ts";
import { ThreadWriter } from "../loop/thread-writer.ts";
import { frontendTool } from "../tool/frontend-tool.ts";
import { checkJsonSchema } from "../tool/json-schema.ts";
import type { ActiveRun } from "./active-runs.ts";
import type { LoadedThread } from "./load-thread.ts";
import type { RunParts } from "./run-parts.ts";
import { newIdentity, type RunOrder } from "./run-request.ts";

/** A run that goes on is who it was. */
function identityOf(run: ActiveRun, { trace, intent }: RunOrder, { agentId, resumed }: LoadedThread): RunIdentity {
  const { threadId, runId } = run;
  if (resumed === undefined) return newIdentity(trace, threadId, runId, agentId);
  const { runMode = intent.type === "resume" ? "resume" : "foreground" } = trace;
  return { ...runIdentity(resumed), agentId, runMode };
}

const OUTPUT_RETRIES = 2;

/**
 * What the answer must fit: the schema of the request, or that of the run that goes on. Its own code checks it where it is at hand,
 * elsewhere its JSON Schema, which the record has.
 */
function outputOf(parts: RunParts, { output, outputRetries }: RunOrder, resumed: RunRecord | undefined): OutputSpec | undefined {
  const stored = resumed?.activation.options;
  const retries = outputRetries ?? stored?.outputRetries ?? OUTPUT_RETRIES;
  const live = output ?? (resumed === undefined ? undefined : parts.outputs.of(resumed.runId));
  if (live !== undefined) return { ...live, retries };
  const schema = stored?.output;
  return schema === undefined ? undefined : { schema, validate: (value) => checkJsonSchema(schema, value), retries };
}

/** What to run, as data: the order with what the records add to it. */
export function activate(parts: RunParts, run: ActiveRun, order: RunOrder, loaded: LoadedThread, plan: Activation["plan"]): Activation {
  const { resumed, history } = loaded;
  const { overrides = resumed?.activation.options.overrides, intent } = order;
  return {
    identity: identityOf(run, order, loaded),
    plan,
    history,
    input: loaded.logged.size === 0 ? order.input : order.input.filter((message) => !loaded.logged.has(message.id)),
    options: {
      overrides,
      frontendTools: frontendTools(order, loaded).map((tool) => frontendTool(tool)),
      output: outputOf(parts, order, resumed),
      isContinuation: resumed !== undefined && resumed.status !== "created",
      seededDecisions: intent.type === "resume" ? intent.decisions : NOTHING,
      cancelGraceMs: parts.cancelGraceMs,
    },
  };
}

const NOTHING: readonly never[] = Object.freeze([]);

const frontendTools = (order: RunOrder, { resumed }: LoadedThread) =>
  order.frontendTools ?? resumed?.activation.options.frontendTools ?? NOTHING;

function intentOf({ intent }: RunOrder, { resumed }: LoadedThread): RunIntent {
  if (intent.type === "resume") return { type: "hitl-resume", runId: intent.runId };
  if (resumed === undefined || resumed.status === "created") return { type: "new-intent" };
  return { type: "continuation-from-run", runId: resumed.runId };
}

export function openWriter(parts: RunParts, activation: Activation, order: RunOrder, loaded: LoadedThread): ThreadWriter {
  const { identity, options } = activation;
  const { threadId: _t, runId: _r, agentId: _a, dispatchId: _d, sessionId: _s, ...trace } = identity;
  const data: RunActivation = {
    intent: intentOf(order, loaded),
    options: {
      frontendTools: frontendTools(order, loaded),
      ...(options.overrides === undefined ? undefined : { overrides: options.overrides }),
      ...(options.output === undefined ? undefined : { output: options.output.schema }),
      ...(options.output === undefined || options.output.retries === OUTPUT_RETRIES
        ? undefined
        : { outputRetries: options.output.retries }),
    },
    trace,
    seededDecisions: NOTHING,
  };
  return new ThreadWriter({
    store: parts.records,
    identity,
    activation: data,
    input: order.input.map((message) => message.id),
    resumed: loaded.resumed,
    messageCount: loaded.history.messageCount,
    latestAt: loaded.latestAt,
    now: () => parts.clock.now(),
  });
}
