import type { AgentEvent, RunId, ThreadId } from "@awaken/contract";
import { EventStream } from "../stream/event-stream.ts";
import type { TenantParts } from "./run-parts.ts";
import type { RunRequest } from "./run-request.ts";
import type { RunResult } from "./run-result.ts";
import { type Begin, type StartedRequest, startRequest } from "./start-request.ts";

/** Who keeps the events of a run for whoever reads them. */
export interface EventsHolder<O> {
  /** From here on they are reached through it, also when nobody else has them. */
  hold(events: EventStream<AgentEvent, RunResult<O>>): void;
}

/** A run under way: its events, once, and its result. Whoever stops reading only detaches. */
export class RunStream<O = unknown> implements AsyncIterable<AgentEvent> {
  readonly #events: EventStream<AgentEvent, RunResult<O>>;
  readonly #started: StartedRequest<O>;
  readonly #reader: EventsHolder<O> | undefined;

  constructor(started: StartedRequest<O>, events: EventStream<AgentEvent, RunResult<O>>, reader?: EventsHolder<O>) {
    this.#started = started;
    this.#events = events;
    this.#reader = reader;
  }

  /** A thread that waits goes on with the run that it waits with: then this is that run's id, once it is known. */
  get id(): RunId {
    return this.#started.run.runId;
  }

  /** The thread of the run, also when it was made for it. */
  get threadId(): ThreadId {
    return this.#started.run.threadId;
  }

  /** Rejects when the run could not begin; how it ended otherwise, failures too, is in the result. */
  get result(): Promise<RunResult<O>> {
    return this.#started.result;
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, undefined> {
    const reading = this.#events[Symbol.asyncIterator]();
    this.#reader?.hold(this.#events);
    return reading;
  }
}

export function openStream<O>(parts: TenantParts, request: RunRequest<O>, begin: Begin): RunStream<O> {
  const events = new EventStream<AgentEvent, RunResult<O>>();
  const started = startRequest(parts, request, begin, events);
  started.result.then(
    (ended) => events.end(ended),
    (thrown) => events.fail(thrown),
  );
  return new RunStream(started, events);
}
