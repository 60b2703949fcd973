import { AwakenError } from "@awaken/contract";
import * as s from "@awaken/contract/schema";
import { command, definePlugin, defineState, type LiveRun, type Plugin } from "@awaken/runtime";
import { activeSkills } from "../skills/state.ts";
import { Capture, type CaptureOptions } from "./capture.ts";
import { promptIdOf, skillIdsOf, toolIdsOf } from "./content-ids.ts";
import type { TelemetryContext } from "./events.ts";
import { RunRecorder } from "./run-recorder.ts";
import { type Sink, Sinks } from "./sink.ts";

/** What the program says of itself, on every event. */
export interface ReleaseFacts {
  /** What it calls this version of itself. */
  readonly tag?: string;
  /** The experiment that its runs take part in. */
  readonly experimentId?: string;
  /** Which variant of it this is. */
  readonly variantName?: string;
}

export interface ObservabilityOptions {
  /** Where telemetry goes: `openTelemetry()`, `prometheus()`, `traceStore()`, `runtimeStats()`, or your own. */
  readonly sinks: readonly Sink[];
  /** What of conversations leaves the process. Default: nothing. */
  readonly capture?: CaptureOptions;
  /** Versions and experiments to tell runs apart by. */
  readonly release?: ReleaseFacts;
}

const traceSchema = s.object({
  /** What the spans of the run are part of. */
  root: s.exactOptional(s.string()),
  /** The span of the activation that was last. */
  last: s.exactOptional(s.string()),
  waitingSince: s.exactOptional(s.number()),
});

type Trace = s.output<typeof traceSchema>;

/** What whoever goes on with the run has to know, in whatever process. */
const runTrace = defineState("observability.trace", {
  schema: traceSchema,
  initial: (): Trace => ({}),
  apply: (value, update: Trace): Trace => ({ ...value, ...update }),
  onInvalid: "drop",
});

function contextOf({ identity, agent, tools, snapshot }: LiveRun, release: ReleaseFacts): TelemetryContext {
  const { runId, threadId, parentRunId, parentToolCallId } = identity;
  const { tag, experimentId, variantName } = release;
  return Object.freeze({
    runId,
    threadId,
    agentId: agent.id,
    ...(parentRunId === undefined ? undefined : { parentRunId }),
    ...(parentToolCallId === undefined ? undefined : { parentToolCallId }),
    promptId: promptIdOf(agent),
    toolDescIds: toolIdsOf(tools),
    skillIds: skillIdsOf(snapshot().get(activeSkills)),
    ...(tag === undefined ? undefined : { releaseTag: tag }),
    ...(experimentId === undefined ? undefined : { experimentId }),
    ...(variantName === undefined ? undefined : { variantName }),
  });
}

/** What a run leaves to the agent that it is handed to. */
interface Left {
  readonly agentId: string;
  readonly trace: { readonly last: string; readonly root: string } | undefined;
}

/** What one agent does of a run. */
interface OpenPart {
  readonly agentId: string;
  readonly recorder: RunRecorder;
}

class Observer {
  readonly #sinks: Sinks;
  readonly #capture: Capture;
  readonly #release: ReleaseFacts;
  /** By the signal of their runs, which each run has of its own. */
  readonly #recorders = new WeakMap<AbortSignal, RunRecorder>();
  readonly #left = new WeakMap<AbortSignal, Left>();

  constructor({ sinks, capture, release = {} }: ObservabilityOptions) {
    this.#sinks = new Sinks(sinks);
    this.#capture = new Capture(capture);
    this.#release = release;
  }

  get sinks(): Sinks {
    return this.#sinks;
  }

  of(signal: AbortSignal): RunRecorder | undefined {
    return this.#recorders.get(signal);
  }

  bind(run: LiveRun): () => void {
    let open = this.#open(run);
    // An agent that has the plugin too takes over: then it stays bound.
    run.listen((event) => {
      if (event.type === "step-start" && event.agentId !== open.agentId) {
        this.#leave(run, open);
        open = this.#open(run);
      }
      open.recorder.listen(event);
    });
    return () => this.#leave(run, open);
  }

  #open(run: LiveRun): OpenPart {
    const { signal, identity, clock } = run;
    const stored = run.snapshot().get(runTrace);
    const left = this.#left.get(signal);
    const context = contextOf(run, this.#release);
    const recorder = new RunRecorder({
      sinks: this.#sinks,
      capture: this.#capture,
      clock,
      waitingSince: stored?.waitingSince,
      skillIds: () => skillIdsOf(run.snapshot().get(activeSkills)),
      opening: {
        context,
        at: clock.now(),
        isContinuation: run.isContinuation,
        traceParent: left?.trace?.root ?? stored?.root ?? identity.traceParent,
        previous: left?.trace?.last ?? stored?.last,
      },
    });
    this.#recorders.set(signal, recorder);
    if (left !== undefined) recorder.handedOver(left.agentId);
    return { agentId: context.agentId, recorder };
  }

  #leave({ signal }: LiveRun, { agentId, recorder }: OpenPart): void {
    this.#left.set(signal, { agentId, trace: recorder.span });
    // The end of a run is told before a plugin is unbound: without it, another agent goes on.
    recorder.end("handoff");
  }
}

/**
 * Tells sinks what runs do: inferences with tokens, time and cost, tools, waits, handoffs and children. It never fails a run. By default no
 * text of a conversation leaves the process: see `capture`.
 */
export function observability(options: ObservabilityOptions): Plugin {
  if (!Array.isArray(options.sinks)) {
    throw new AwakenError("invalid_plugin", "observability needs `sinks`, e.g. observability({ sinks: [openTelemetry()] })");
  }
  const observer = new Observer(options);
  return definePlugin({
    id: "observability",
    register(r) {
      r.state(runTrace);
      r.around("inference", (facts, begin) => observer.of(facts.signal)?.inference(facts, begin));
      r.around("tool", (facts, begin) => observer.of(facts.signal)?.tool(facts, begin));
      r.hook("runStart", ({ signal }) => {
        const span = observer.of(signal)?.span;
        return span === undefined ? undefined : command().update(runTrace, span);
      });
      r.hook("runEnd", ({ termination, clock }) =>
        termination.type === "suspended" ? command().update(runTrace, { waitingSince: clock.now() }) : undefined,
      );
    },
    async onInitialize({ log }) {
      await observer.sinks.open({ log });
      return () => observer.sinks.close();
    },
    onBind: (run) => observer.bind(run),
  });
}
