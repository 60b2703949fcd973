import type { AgentEvent, RunId, ThreadId } from "@awaken/contract";
import { EventStream } from "../stream/event-stream.ts";
import type { RunParts } from "./run-parts.ts";
import type { RunRequest } from "./run-request.ts";
import { type RunResult, type StartedRequest, startRequest } from "./stream-run.ts";

/** A run under way: its events, once, and its result. Whoever stops reading only detaches. */
export class RunStream<O = unknown> implements AsyncIterable<AgentEvent> {
  readonly #events = new EventStream<AgentEvent, RunResult<O>>();
  readonly #started: StartedRequest<O>;

  constructor(parts: RunParts, request: RunRequest<O>) {
    const events = this.#events;
    this.#started = startRequest(parts, request, (event) => events.push(event));
    this.#started.result.then(
      (ended) => events.end(ended),
      (thrown) => events.fail(thrown),
    );
  }

  /** A thread that waits goes on with the run that it waits with: then this is that run's id, once it is known. */
  get id(): RunId {
    return this.#started.run.runId;
  }

  get threadId(): ThreadId {
    return this.#started.run.threadId;
  }

  /** Rejects when the run could not begin; how it ended otherwise, failures too, is in the result. */
  get result(): Promise<RunResult<O>> {
    return this.#started.result;
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, undefined> {
    return this.#events[Symbol.asyncIterator]();
  }
}
