import type { AgentEvent, RunId, ThreadId } from "@awaken/contract";
import { EventStream } from "../stream/event-stream.ts";
import type { ActiveRun } from "./active-runs.ts";
import type { RunParts } from "./run-parts.ts";
import type { RunRequest } from "./run-request.ts";
import { type RunResult, startRun, typedResult } from "./stream-run.ts";

/** A run under way: its events, once, and its result. Whoever stops reading only detaches. */
export class RunStream<O = unknown> implements AsyncIterable<AgentEvent> {
  readonly #events = new EventStream<AgentEvent, RunResult<O>>();
  readonly #run: ActiveRun;

  constructor(parts: RunParts, request: RunRequest<O>) {
    const events = this.#events;
    const { run, result } = startRun(parts, request, undefined, (event) => events.push(event));
    this.#run = run;
    result.then(
      (ended) => events.end(typedResult<O>(ended)),
      (thrown) => events.fail(thrown),
    );
  }

  /** A thread that waits goes on with the run that it waits with: then this is that run's id, once it is known. */
  get id(): RunId {
    return this.#run.runId;
  }

  get threadId(): ThreadId {
    return this.#run.threadId;
  }

  get result(): Promise<RunResult<O>> {
    return this.#events.result;
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, undefined> {
    return this.#events[Symbol.asyncIterator]();
  }
}
