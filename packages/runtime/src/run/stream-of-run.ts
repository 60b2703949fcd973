import type { AgentEvent, RunId, ThreadId } from "@awaken/contract";
import type { LoopResult } from "../loop/finish.ts";
import { EventStream } from "../stream/event-stream.ts";
import type { Hearer } from "../stream/listeners.ts";
import type { ActiveRun } from "./active-runs.ts";
import type { RunResult } from "./run-result.ts";
import { type EventsHolder, RunStream } from "./run-stream.ts";
import { toUntypedResult } from "./untyped-result.ts";

/** What a run knows of somebody who may read its events: until he does, only his handle keeps them. */
class Reader<O> implements EventsHolder<O>, Hearer<AgentEvent> {
  readonly #kept: WeakRef<EventStream<AgentEvent, RunResult<O>>>;
  #held: EventStream<AgentEvent, RunResult<O>> | undefined;
  #left: (() => void) | undefined;

  constructor(events: EventStream<AgentEvent, RunResult<O>>) {
    this.#kept = new WeakRef(events);
  }

  /** The stream below, once the run has begun. */
  get events(): EventStream<AgentEvent, RunResult<O>> | undefined {
    return this.#held ?? this.#kept.deref();
  }

  /** Whoever waits for the next event is reached through the run alone. */
  hold(events: EventStream<AgentEvent, RunResult<O>>): void {
    this.#held = events;
  }

  push(event: AgentEvent): void {
    const { events } = this;
    if (events === undefined) this.#left?.();
    else events.push(event);
  }

  /** Nobody says that the handle is gone: it is noticed by the next event. */
  onDetach(left: () => void): () => void {
    const { events } = this;
    this.#left = left;
    if (events === undefined) left();
    const off = events?.onDetach(left);
    return () => {
      this.#left = undefined;
      off?.();
    };
  }
}

/** Passes on what is told from now on, until the run ends or nobody is there to read it. */
function listen(run: ActiveRun, reader: Reader<unknown>): void {
  const leave = run.listeners.add((event) => {
    const { events } = reader;
    if (events === undefined) leave();
    else events.push(event);
  });
}

function endWith(result: Promise<RunResult>, reader: Reader<unknown>): void {
  result.then(
    (ended) => reader.events?.end(ended),
    (thrown) => reader.events?.fail(thrown),
  );
}

/** A run that is under way in this process, from now on. `ending` is what it comes to, wherever; there it tells what happens. */
export function followRun(run: ActiveRun, ending: (told: Hearer<AgentEvent>) => Promise<LoopResult>): RunStream {
  const events = new EventStream<AgentEvent, RunResult>();
  const reader = new Reader(events);
  listen(run, reader);
  const result = ending(reader).then(toUntypedResult);
  endWith(result, reader);
  return new RunStream({ run, result }, events, reader);
}

/** A run that nobody executes here: there is nothing to hear of it, and its result is asked for when somebody wants it. */
export function recordedRun(run: { readonly runId: RunId; readonly threadId: ThreadId }, wait: () => Promise<RunResult>): RunStream {
  const events = new EventStream<AgentEvent, RunResult>();
  const { runId, threadId } = run;
  const ended: { result?: Promise<RunResult> } = {};
  events.detach();
  return new RunStream(
    {
      run: { runId, threadId },
      get result() {
        ended.result ??= wait();
        return ended.result;
      },
    },
    events,
  );
}
