import { errorMessage, type Log } from "@awaken/contract";
import type { InferenceEvent, RunEvent, TelemetryContext, TelemetryEvent, ToolEvent } from "./events.ts";

/** What a sink that follows a run is told when it opens. */
export interface RunOpening {
  /** Which run, and which agent has it. */
  readonly context: TelemetryContext;
  /** Unix milliseconds. */
  readonly at: number;
  /** The run waited, or its process died, and it goes on. */
  readonly isContinuation: boolean;
  /** Where the run belongs, as the W3C header `traceparent` has it: of its caller, or as it was when it began. */
  readonly traceParent: string | undefined;
  /** The span of the run before it waited, died or was handed over, in the same form. */
  readonly previous: string | undefined;
}

/** Something that takes time. */
export type Beginning =
  | (Pick<InferenceEvent, "type" | "step" | "model" | "provider" | "temperature" | "topP" | "maxTokens"> & {
      /** Whose it is. */
      readonly context: TelemetryContext;
    })
  | (Pick<ToolEvent, "type" | "step" | "name" | "callId"> & {
      /** Whose it is. */
      readonly context: TelemetryContext;
      /** The call is of an earlier activation: nobody here saw the model ask for it. */
      readonly isReplay: boolean;
    });

/** Something that a sink follows from its beginning to its end. */
export interface Following {
  /** Its span, in the form of `traceparent`: runs that it starts are below it, in whatever process they are executed. */
  readonly traceParent?: string | undefined;
  /** Runs the work inside of it, so that what the work does belongs to it. */
  inside<T>(work: () => T): T;
  /** The model is asked again, after a wait. */
  retry?(attempt: number, delayMs: number): void;
  /** What came of it. Called once. */
  end(event: InferenceEvent | ToolEvent): void;
}

/** Follows one run as long as it is active here. */
export interface RunFollower {
  /** The span of the run, in the form of `traceparent`; kept with the run for whoever goes on with it. */
  readonly span: string | undefined;
  /** What it is part of, in the same form; itself, when it is part of nothing. */
  readonly root: string | undefined;
  /** An inference or a tool begins. */
  begin(beginning: Beginning): Following;
  /** What has no beginning of its own. */
  record(event: Exclude<TelemetryEvent, InferenceEvent | ToolEvent | RunEvent>): void;
  /** A call that has its result and never ran: a gate refused or answered it. */
  skip(event: ToolEvent): void;
  /** The run is over here. Called once. */
  end(event: RunEvent): void;
}

/** What a sink gets when the runtime is made ready. */
export interface SinkHost {
  /** Where warnings go. */
  readonly log: Log;
}

/** Where telemetry goes. None of its methods can fail a run: what they throw is logged and counted. */
export interface Sink {
  /** For logs. */
  readonly name: string;
  /** Called once by a runtime, before the first run, and waited for. */
  open?(host: SinkHost): void | Promise<void>;
  /** Quick, and without waiting for anything. */
  record(event: TelemetryEvent): void;
  /** For sinks that have to be there when something begins: they are not told by `record` of runs. Undefined: this run is of no interest. */
  follow?(run: RunOpening): RunFollower | undefined;
  /** Everything that was recorded is where it belongs when it resolves. */
  flush?(): Promise<void>;
  /** The same for the last time. */
  shutdown?(): Promise<void>;
}

/** Several sinks as one: what one of them does wrong, the others do not notice. */
export class Sinks {
  readonly all: readonly Sink[];
  #failures = 0;
  #log: Log | undefined;

  constructor(all: readonly Sink[]) {
    this.all = all;
  }

  /** How often a sink threw. */
  get failures(): number {
    return this.#failures;
  }

  async open(host: SinkHost): Promise<void> {
    this.#log = host.log;
    for (const sink of this.all) await sink.open?.(host);
  }

  /** Runs what belongs to one sink. */
  guard<T>(sink: Sink, work: () => T): T | undefined {
    try {
      return work();
    } catch (thrown) {
      this.#note(sink, thrown);
      return undefined;
    }
  }

  /** Tells one sink something. One that takes its time about it, against its contract, fails no more than any other. */
  tell(sink: Sink, work: () => unknown): void {
    const told = this.guard(sink, work);
    if (told instanceof Promise) told.catch((thrown: unknown) => this.#note(sink, thrown));
  }

  async close(): Promise<void> {
    await Promise.all(
      this.all.map(async (sink) => {
        try {
          await sink.flush?.();
          await sink.shutdown?.();
        } catch (thrown) {
          this.#note(sink, thrown);
        }
      }),
    );
  }

  #note({ name }: Sink, thrown: unknown): void {
    this.#failures += 1;
    this.#log?.error(`telemetry sink '${name}' failed: ${errorMessage(thrown)}`, { sink: name, failures: this.#failures });
  }
}
