import { type RunRecord, threadId } from "@awaken/contract";
import type { AttachedEvent, RunRequest, RunStream } from "@awaken/runtime";
import { openEvents } from "./open-events.ts";
import { activeRun, type EventReply, type Tenant } from "./served.ts";

const isEnd = ({ type }: AttachedEvent): boolean => type === "run-end";

/** What a run that was submitted before has done and does, until it is over or waits. */
export async function streamAgain({ runtime, records }: Tenant, run: RunRecord): Promise<EventReply> {
  const isAtRest = async () => (await records.runs.load(run.runId))?.status !== "running";
  const isLast = (event: AttachedEvent) => isEnd(event) && isAtRest();
  const events = await openEvents(runtime, run.runId, { isLast });
  return { events, runId: run.runId, threadId: run.threadId };
}

/** A thread that waits goes on with the run that it waits with: of that run, only what comes now is told. */
async function waitingRun(tenant: Tenant, thread: string): Promise<RunRecord | undefined> {
  const found = await tenant.records.threads.load(threadId(thread));
  const run = found === undefined ? undefined : await activeRun(tenant, found);
  return run?.status === "waiting" ? run : undefined;
}

/** One activation of a run: that which took in the messages of a request. What others told before it is left out. */
class Turn {
  #message: string | undefined;
  #isHere = false;
  /** What was told since the last start of the run, while nobody knows whose that is. */
  #held: AttachedEvent[] = [];

  constructor(message?: string) {
    this.#message = message;
  }

  /** Its own first events say which messages it has; whatever keeps it from beginning is thrown. The rest is told by the log, with cursors. */
  async begin(run: RunStream): Promise<void> {
    const events = run[Symbol.asyncIterator]();
    for (let next = await events.next(); !next.done && next.value.type !== "step-start"; next = await events.next()) {
      if (next.value.type === "input-accepted") {
        this.#message = next.value.messages[0]?.id;
        break;
      }
    }
    this.#isHere = this.#message === undefined;
    void events.return?.();
  }

  readonly isLast = (event: AttachedEvent): boolean => {
    this.#isHere ||= event.type === "input-accepted" && event.messages.some(({ id }) => id === this.#message);
    return this.#isHere && isEnd(event);
  };

  only(events: AsyncIterator<AttachedEvent>): AsyncIterator<AttachedEvent> {
    return { next: () => this.#next(events), return: async () => (await events.return?.()) ?? { done: true, value: undefined } };
  }

  async #next(events: AsyncIterator<AttachedEvent>): Promise<IteratorResult<AttachedEvent>> {
    for (;;) {
      const held = this.#isHere ? this.#held.shift() : undefined;
      if (held !== undefined) return { done: false, value: held };
      const next = await events.next();
      if (this.#isHere && this.#held.length === 0) return next;
      if (next.done) {
        if (this.#held.length === 0) return next;
        // The run ended without the messages: how it did is what there is to tell.
        this.#isHere = true;
        continue;
      }
      if (next.value.type === "run-start") this.#held = [];
      this.#held.push(next.value);
    }
  }
}

/** Nobody waits on its thread: its id is its own from the first moment. */
const streamNew = ({ runtime }: Tenant, run: RunStream): Promise<EventReply> =>
  openEvents(runtime, run.id, { begun: run.result, isLast: isEnd }).then((events) => ({ events, runId: run.id, threadId: run.threadId }));

/** Messages that are known again in the run that takes them in. */
function withIds(input: RunRequest["input"] = []) {
  const messages = typeof input === "string" ? [{ role: "user" as const, content: input }] : input;
  return messages.map((message) => ({ id: crypto.randomUUID(), ...message }));
}

/** Behind what is at work: answered at once, and told when its turn has come. */
async function streamQueued(tenant: Tenant, request: RunRequest, waiting: RunRecord | undefined): Promise<EventReply> {
  const { runtime, records } = tenant;
  const input = withIds(request.input);
  const turn = new Turn(input[0]?.id);
  const following = waiting && (await openEvents(runtime, waiting.runId, { from: "now", isLast: turn.isLast }));
  try {
    const { runId: id, threadId: thread } = await runtime.start({ ...request, input });
    if (following !== undefined && id === waiting?.runId) return { events: turn.only(following), runId: id, threadId: thread };
    await following?.return?.();
    const run = await records.runs.load(id);
    // One that has begun to wait since it was looked for: of that one, only what comes now is told.
    const isOlder = run !== undefined && (run.status === "waiting" || run.steps > 0);
    const events = await openEvents(runtime, id, { isLast: isOlder ? turn.isLast : isEnd });
    return { events: isOlder ? turn.only(events) : events, runId: id, threadId: thread };
  } catch (thrown) {
    await following?.return?.();
    throw thrown;
  }
}

/** A thread may begin to wait, or to go on, between a look at it and the submit: which run it became is what the run itself says. */
async function streamTurn(tenant: Tenant, request: RunRequest, waiting: RunRecord | undefined): Promise<EventReply> {
  const { runtime } = tenant;
  const turn = new Turn();
  // Before anything happens: nothing of it is missed.
  const before = waiting && (await openEvents(runtime, waiting.runId, { from: "now", isLast: turn.isLast }));
  const run = runtime.stream(request);
  run.result.catch(() => {});
  try {
    await turn.begin(run);
    const isSame = before !== undefined && run.id === waiting?.runId;
    if (!isSame) await before?.return?.();
    const events = isSame ? before : await openEvents(runtime, run.id, { begun: run.result, isLast: turn.isLast });
    return { events: turn.only(events), runId: run.id, threadId: run.threadId };
  } catch (thrown) {
    await before?.return?.();
    throw thrown;
  }
}

/** A new run, or the one that the thread waits with: of that one, only what comes now is told. */
export async function streamRun(tenant: Tenant, request: RunRequest): Promise<EventReply> {
  const { thread, runId: own, onBusy } = request;
  const waiting = own === undefined && thread !== undefined ? await waitingRun(tenant, thread) : undefined;
  if (onBusy === "queue") return streamQueued(tenant, request, waiting);
  // One that interrupts looks who is at work first: it is nowhere to be found before it has begun.
  if (onBusy === "interrupt" || (thread !== undefined && own === undefined)) return streamTurn(tenant, request, waiting);
  const run = tenant.runtime.stream(request);
  void run[Symbol.asyncIterator]().return?.();
  return streamNew(tenant, run);
}
