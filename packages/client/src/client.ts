import { AwakenError, toJsonSchema } from "@awaken/contract";
import type { Answer, Body } from "./endpoints.ts";
import { type AttachedEvent, follow } from "./events.ts";
import { insist } from "./patience.ts";
import { type PendingVerbs, pendingOf } from "./pending.ts";
import { type Begun, RunHandle, type RunResult, readResult, waitFor } from "./run-handle.ts";
import { type ClientInit, letGo, Transport } from "./transport.ts";
import type {
  AdminVerbs,
  AttachOptions,
  Client,
  DecisionInput,
  MessageInput,
  RunRequest,
  RunVerbs,
  StartRequest,
  ThreadVerbs,
} from "./verbs.ts";

const toMessages = (input: RunRequest["input"]): readonly MessageInput[] =>
  typeof input === "string" ? [{ role: "user", content: input, id: crypto.randomUUID() }] : input;

function toBody<O>({ agent, thread, input, output, outputRetries, overrides, frontendTools, onBusy }: Omit<RunRequest<O>, "signal">) {
  return {
    messages: toMessages(input),
    ...(agent === undefined ? undefined : { agentId: agent }),
    ...(thread === undefined ? undefined : { threadId: thread }),
    ...(output === undefined ? undefined : { output: toJsonSchema(output) }),
    ...(outputRetries === undefined ? undefined : { outputRetries }),
    ...(overrides === undefined ? undefined : { overrides }),
    ...(frontendTools === undefined ? undefined : { frontendTools }),
    ...(onBusy === undefined ? undefined : { onBusy }),
  };
}

const toSend = (input: RunRequest["input"], { mode }: { readonly mode?: Body<"sendMessages">["mode"] | undefined } = {}) => ({
  messages: toMessages(input),
  ...(mode === undefined ? undefined : { mode }),
});

const IDEMPOTENCY = "idempotency-key";
const isEnd = (event: AttachedEvent): event is Extract<AttachedEvent, { type: "run-end" }> => event.type === "run-end";

const isMissing = (thrown: unknown): boolean =>
  AwakenError.is(thrown) && (thrown.code === "run_not_found" || thrown.code === "thread_not_found");

class HttpClient implements Client {
  readonly #transport: Transport;
  readonly threads: ThreadVerbs;
  readonly runs: RunVerbs;
  readonly pending: PendingVerbs;
  readonly admin: AdminVerbs;

  constructor(init: ClientInit) {
    const transport = new Transport(init);
    this.#transport = transport;
    this.threads = {
      list: (query) => transport.insist("listThreads", { query }),
      summaries: (query) => transport.insist("listThreadSummaries", { query }),
      load: (id) => transport.insist("loadThread", { ids: { id } }),
      create: (body = {}) => transport.ask("createThread", { body }),
      update: (id, body) => transport.insist("updateThread", { ids: { id }, body }),
      delete: (id, query) => transport.tell("deleteThread", { ids: { id }, query }),
      messages: (id, query) => transport.insist("listMessages", { ids: { id }, query }),
      runs: (id, query) => transport.insist("listThreadRuns", { ids: { id }, query }),
      events: (id, query) => transport.insist("listThreadEvents", { ids: { id }, query }),
    };
    this.runs = {
      list: (query) => transport.insist("listRuns", { query }),
      load: (id) => transport.insist("loadRun", { ids: { id } }),
      events: (id, query) => transport.insist("listRunEvents", { ids: { id }, query }),
      send: (id, input, options) => transport.ask("sendInputs", { ids: { id }, body: toSend(input, options) }),
    };
    this.pending = pendingOf(transport);
    this.admin = {
      queue: (query) => transport.insist("listQueue", { query }),
      deadLetters: (query) => transport.insist("listDeadLetters", { query }),
      replay: (id) => transport.ask("replayDeadLetter", { ids: { id } }),
      drop: (id) => transport.tell("dropDeadLetter", { ids: { id } }),
    };
  }

  async run<O>(request: RunRequest<O>): Promise<RunResult<O>> {
    return this.stream(request).result;
  }

  stream<O>(request: RunRequest<O>): RunHandle<O> {
    const { signal, output, idempotencyKey = crypto.randomUUID() } = request;
    const asked = { body: toBody(request), headers: { [IDEMPOTENCY]: idempotencyKey } };
    // Sent again with its key, it is the same run: an answer that was lost costs nothing.
    const opened = insist(() => this.#transport.send("streamRun", { ...asked, signal }), signal);
    const begun = opened.then(
      ({ headers }): Begun => ({ runId: headerOf(headers, "x-run-id"), threadId: headerOf(headers, "x-thread-id") }),
    );
    let isRead = false;
    const events = (): AsyncGenerator<AttachedEvent, undefined> => {
      const first = isRead ? undefined : opened;
      isRead = true;
      return this.#follow(begun, { first, signal });
    };
    const result = async () => {
      const { runId } = await begun;
      // Nobody reads the stream: it is let go, the run goes on.
      if (!isRead) {
        isRead = true;
        await letGo(await opened);
      }
      return readResult(await waitFor(this.#transport, runId, signal), output);
    };
    return new RunHandle({ begun, events, result });
  }

  /** The stream that was opened with the run, then others behind its last cursor. */
  async *#follow(
    begun: Promise<Begun>,
    { first, signal }: { readonly first: Promise<Response> | undefined; readonly signal: AbortSignal | undefined },
  ): AsyncGenerator<AttachedEvent, undefined> {
    const { runId } = await begun;
    let waiting = first;
    yield* follow({
      open: (after, leaving) => {
        const opened = waiting;
        waiting = undefined;
        return opened ?? this.#openRun(runId, after, leaving);
      },
      after: undefined,
      signal,
      isLast: isEnd,
    });
  }

  #openRun(runId: string, after: string | undefined, signal: AbortSignal, from?: string): Promise<Response> {
    const headers = after === undefined ? {} : { "last-event-id": after };
    return this.#transport.send("streamRunEvents", { ids: { id: runId }, headers, query: { from }, signal });
  }

  async start({ priority, dedupeKey, idempotencyKey = crypto.randomUUID(), ...request }: StartRequest): Promise<Begun> {
    const body = {
      ...toBody(request),
      ...(priority === undefined ? undefined : { priority }),
      ...(dedupeKey === undefined ? undefined : { dedupeKey }),
    };
    return this.#transport.insist("startRun", { body, headers: { [IDEMPOTENCY]: idempotencyKey } });
  }

  attach(id: string, { after, from, signal }: AttachOptions = {}): AsyncIterable<AttachedEvent> {
    let isThread = true;
    const open = async (cursor: string | undefined, leaving: AbortSignal): Promise<Response> => {
      const start = cursor === undefined ? from : undefined;
      try {
        if (!isThread) return await this.#openRun(id, cursor, leaving, start);
        const headers = cursor === undefined ? {} : { "last-event-id": cursor };
        return await this.#transport.send("streamThreadEvents", { ids: { id }, headers, query: { from: start }, signal: leaving });
      } catch (thrown) {
        if (!isThread || !isMissing(thrown)) throw thrown;
        isThread = false;
        return this.#openRun(id, cursor, leaving, start);
      }
    };
    const isLast = (event: AttachedEvent) => !isThread && isEnd(event) && event.result.status !== "waiting";
    return { [Symbol.asyncIterator]: () => follow({ open, after, signal, isLast }) };
  }

  async wait(runId: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<RunResult> {
    return readResult<unknown>(await waitFor(this.#transport, runId, signal), undefined);
  }

  async decide(ticket: string, { run, id = crypto.randomUUID(), ...decision }: DecisionInput): Promise<RunHandle> {
    const body = { ...decision, id };
    const { runId, threadId, target } =
      run === undefined
        ? await this.#transport.insist("decideTicket", { ids: { id: ticket }, body })
        : await this.#transport.insist("decideOnRun", { ids: { id: run }, body: { ...body, target: ticket } });
    const begun = Promise.resolve({ runId, threadId });
    const events = () => this.#afterDecision(runId, target);
    const result = async () => {
      for await (const event of this.#afterDecision(runId, target)) if (isEnd(event)) break;
      return this.wait(runId);
    };
    return new RunHandle({ begun, events, result });
  }

  /** What the run does from the decision on, until it is over or waits again. When one below it was asked, it may go on waiting for that one. */
  async *#afterDecision(runId: string, target: string): AsyncGenerator<AttachedEvent, undefined> {
    let isDecided = false;
    let isWaiting = false;
    for await (const event of this.attach(runId)) {
      if (event.type === "run-start") isWaiting = false;
      if (isEnd(event)) isWaiting = true;
      isDecided ||= event.type === "decision-taken" && event.ticketId === target;
      if (!isDecided) continue;
      yield event;
      if (isEnd(event) || (isWaiting && event.type === "ticket-open")) return;
    }
  }

  async cancel(id: string): Promise<boolean> {
    for (const name of ["cancelRun", "cancelThread"] as const) {
      try {
        await this.#transport.insist(name, { ids: { id } });
        return true;
      } catch (thrown) {
        if (!isMissing(thrown)) throw thrown;
      }
    }
    return false;
  }

  interrupt(thread: string): Promise<Answer<"interruptThread">> {
    return this.#transport.ask("interruptThread", { ids: { id: thread } });
  }

  send(thread: string, input: RunRequest["input"], { mode }: Pick<Body<"sendMessages">, "mode"> = {}) {
    return this.#transport.ask("sendMessages", { ids: { id: thread }, body: toSend(input, { mode }) });
  }
}

function headerOf(headers: Headers, name: string): string {
  const value = headers.get(name);
  if (value !== null) return decodeURIComponent(value);
  throw new AwakenError("internal", `the answer has no header ${name}: is it an Awaken server? Across origins it has to be exposed`);
}

/** A server's runtime, as if it were here. */
export const createClient = (init: ClientInit): Client => new HttpClient(init);
