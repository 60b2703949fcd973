import { errorMessage, type InferenceRequest, type Log, type ToolCall, type ToolResult, type Turn } from "@awaken/contract";
import type { ModelSpec } from "@awaken/contract/spec";
import type { ResumedCall, RunScene } from "../phase/hook.ts";

/** What can be surrounded, and what is known when it begins. */
export interface AroundFacts {
  /** One answer of the model, with its retries. */
  inference: RunScene & {
    /** Counted from the beginning of the run. */
    readonly step: number;
    /** In the registry; a pool is its own provider. */
    readonly provider: string;
    /** What the model is asked, as it is sent first. */
    readonly request: InferenceRequest;
    /** The model as it is registered, or the members of the pool. */
    readonly models: readonly ModelSpec[];
  };
  /** The code of a tool. A call that a gate refused or answered does not come here. */
  tool: RunScene & {
    /** Counted from the beginning of the run. */
    readonly step: number;
    /** The call, with the input that it runs with. */
    readonly call: ToolCall;
    /** Set when the call was suspended and has been decided. */
    readonly resume: ResumedCall | undefined;
    /** The call is of an earlier activation of the run. */
    readonly isReplay: boolean;
  };
}

/** What came of it. */
export interface AroundResults {
  /** A failed one says so itself. */
  inference: Turn;
  /** Of a tool that failed it says so itself. */
  tool: ToolResult;
}

export type AroundWork = keyof AroundFacts;

/** Where the work happens, for what it starts that outlives this process. */
export interface AroundPlace {
  /** The span around it, as the W3C header `traceparent` has it: of runs that a tool starts, it is on record. */
  readonly traceParent?: string | undefined;
}

/** Lets the work begin. Called once more, it gives the same. */
export type BeginWork<W extends AroundWork> = (place?: AroundPlace) => Promise<AroundResults[W]>;

/**
 * Lets the work begin inside of something: a trace context, an async local storage. It calls `begin` before it returns; what that gives is
 * only to be looked at. It cannot change the work nor keep it from happening: what it throws is logged.
 */
export type Around<W extends AroundWork> = (facts: AroundFacts[W], begin: BeginWork<W>) => void;

export interface AroundEntry<W extends AroundWork> {
  readonly plugin: string;
  readonly around: Around<W>;
}

export type AroundTable = { readonly [W in AroundWork]: readonly AroundEntry<W>[] };

/** Runs the work once, inside of all that surrounds it; the first plugin is the outermost, and the innermost span is the work's. */
export function surround<W extends AroundWork, R>(
  entries: readonly AroundEntry<W>[],
  facts: AroundFacts[W],
  work: (traceParent: string | undefined) => Promise<R>,
  { read, log }: { readonly read: (result: R) => AroundResults[W]; readonly log: Log },
): Promise<R> {
  let running: Promise<R> | undefined;
  let traceParent: string | undefined;
  const start = (): Promise<R> => {
    running ??= work(traceParent);
    return running;
  };
  let told: Promise<AroundResults[W]> | undefined;
  let begin: BeginWork<W> = (place) => {
    traceParent = place?.traceParent ?? traceParent;
    if (told !== undefined) return told;
    told = start().then(read);
    // Whoever waits for the work itself sees its failure.
    told.catch(() => {});
    return told;
  };
  for (const { plugin, around } of entries.toReversed()) {
    const inner = begin;
    let isBegun = false;
    begin = (place) => {
      traceParent = place?.traceParent ?? traceParent;
      if (isBegun) return inner();
      isBegun = true;
      try {
        around(facts, inner);
      } catch (thrown) {
        log.error(`plugin '${plugin}' failed around a run's work: ${errorMessage(thrown)}`, { plugin });
      }
      return inner();
    };
  }
  // Whoever surrounds the work hears of its end before the run goes on.
  return begin().then(start, start);
}
