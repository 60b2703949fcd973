import {
  AwakenError,
  InferenceError,
  type InferenceFailure,
  type InferenceOptions,
  type InferenceRequest,
  type Log,
  type Provider,
  type StreamPart,
} from "@awaken/contract";
import { raceAbort } from "../../stream/abort.ts";
import { type BreakerPolicy, CircuitBreaker } from "../circuit-breaker.ts";
import { classify } from "../classify.ts";
import { closeIterator } from "../opened-stream.ts";
import { type Attempt, Attempts, type Trial } from "./attempts.ts";
import { BoundedMap } from "./bounded-map.ts";
import { Members, type MembersInit } from "./members.ts";
import { reaction } from "./reaction.ts";
import { type Session, Sessions } from "./session.ts";

export interface PoolInit extends MembersInit {
  readonly log: Log;
}

/** One request on its way through the members. */
interface Call {
  readonly request: InferenceRequest;
  readonly options: InferenceOptions;
  readonly session: Session;
  readonly trial: Trial;
  readonly visited: Set<number>;
}

type Tried =
  | { readonly type: "opened"; readonly stream: AsyncIterable<StreamPart> }
  /** The member is left; another one may be asked. */
  | { readonly type: "left"; readonly thrown: unknown };

const MAX_BREAKERS = 1024;

/** By pool definition, of the process: every runtime in it knows who is down. */
const breakers = new BoundedMap<CircuitBreaker>(MAX_BREAKERS);

export const breakerOf = (key: string, policy: Partial<BreakerPolicy> | undefined): CircuitBreaker =>
  breakers.getOrCreate(key, () => new CircuitBreaker(policy));

/** A provider made of providers: each conversation keeps its member until that one fails for a reason that another would not. */
export function createPool(init: PoolInit): Provider {
  const pool = new Pool(init);
  return {
    name: init.spec.id,
    canOverrideModel: false,
    stream: (request, options) => pool.stream(request, options),
    observer: {
      drained: (request) => pool.drained(request),
      failed: (request, failure) => pool.failed(request, failure),
      hasMoved: (request) => pool.hasMoved(request),
      servedBy: (request) => pool.servedBy(request),
    },
  };
}

class Pool {
  readonly #init: PoolInit;
  readonly #members: Members;
  readonly #sessions: Sessions;
  readonly #attempts = new Attempts();

  constructor(init: PoolInit) {
    this.#init = init;
    this.#members = new Members(init);
    this.#sessions = new Sessions(init.spec, this.#members, init.log);
  }

  async stream(request: InferenceRequest, options: InferenceOptions): Promise<AsyncIterable<StreamPart>> {
    const session = this.#sessions.of(request);
    const trial = this.#attempts.trial(session, request);
    const call: Call = { request, options, session, trial, visited: new Set() };
    let last: { readonly thrown: unknown } | undefined;
    for (;;) {
      const index = this.#choose(call);
      if (index === undefined) throw this.#nobodyLeft(call, last);
      const tried = await this.#try(call, index);
      if (tried.type === "opened") return tried.stream;
      last = tried;
    }
  }

  drained(request: InferenceRequest): void {
    const attempt = this.#attempts.find(request, this.#sessions.keyOf(request));
    if (attempt === undefined || !this.#attempts.close(attempt)) return;
    const { member, session } = attempt;
    this.#members.succeed(member);
    if (session.member === member) session.switches = 0;
    this.#members.all[member]?.provider.observer?.drained(attempt.request);
  }

  failed(request: InferenceRequest, failure: InferenceFailure): void {
    const attempt = this.#attempts.find(request, this.#sessions.keyOf(request));
    if (attempt === undefined || !this.#attempts.close(attempt)) return;
    const { member, session, trial, probe } = attempt;
    this.#members.fail(member, probe, failure);
    this.#members.all[member]?.provider.observer?.failed(attempt.request, failure);
    if (!this.#leave(attempt, failure) || trial.current !== attempt || session.member !== member) return;
    const next = this.#members.failover(session.key, (index) => !trial.left.has(index));
    if (next !== undefined) this.#sessions.move(session, next);
  }

  hasMoved(request: InferenceRequest): boolean {
    const attempt = this.#attempts.find(request, this.#sessions.keyOf(request));
    if (attempt === undefined) return false;
    const { member, session, trial } = attempt;
    return trial.left.has(member) && session.member !== member;
  }

  servedBy(request: InferenceRequest): string | undefined {
    const attempt = this.#attempts.latest(request, this.#sessions.keyOf(request));
    return attempt === undefined ? undefined : this.#members.all[attempt.member]?.model;
  }

  /** The member to ask now; moves the conversation when its own member cannot be asked. */
  #choose({ session, trial, visited }: Call): number | undefined {
    const isOpen = (index: number) => !visited.has(index) && !trial.left.has(index);
    const current = session.member;
    if (isOpen(current) && this.#members.isHealthy(current)) return current;
    const next = this.#members.failover(session.key, (index) => index !== current && isOpen(index));
    if (next === undefined || !this.#sessions.move(session, next)) return undefined;
    trial.left.add(current);
    return next;
  }

  async #try(call: Call, index: number): Promise<Tried> {
    const { session, trial, visited } = call;
    const member = this.#members.all[index];
    const admission = this.#members.admit(index);
    if (member === undefined || admission.type === "rejected") throw new RangeError(`pool member ${index} is not there`);
    visited.add(index);
    const request: InferenceRequest = { ...call.request, model: member.upstream };
    const { signal, maxRetryAfterMs } = call.options;
    const attempt: Attempt = { member: index, probe: admission.probe, session, trial, request, maxRetryAfterMs, isOver: false };
    try {
      const opened = await openMember(member.provider, request, call.options);
      this.#attempts.open(call.request, attempt);
      return { type: "opened", stream: this.#watch(opened, attempt) };
    } catch (thrown) {
      const failure = memberFailure(thrown, signal);
      if (failure === undefined) {
        this.#members.abandon(index, attempt.probe);
        throw thrown;
      }
      this.#members.fail(index, attempt.probe, failure);
      if (signal.aborted || !this.#leave(attempt, failure)) throw thrown;
      return { type: "left", thrown };
    }
  }

  /** Whether this inference is done with the member. */
  #leave({ member, trial, maxRetryAfterMs }: Attempt, failure: InferenceFailure): boolean {
    const what = reaction(this.#init.spec, failure, maxRetryAfterMs);
    if (what === "stay") return false;
    if (what === "quarantine") this.#members.quarantine(member);
    trial.left.add(member);
    return true;
  }

  /** A stream that is closed before its end was reported says nothing about the member, but gives its probe back. */
  #watch(stream: AsyncIterable<StreamPart>, attempt: Attempt): AsyncIterable<StreamPart> {
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = stream[Symbol.asyncIterator]();
        return {
          next: () => iterator.next(),
          return: (value) => {
            if (this.#attempts.close(attempt)) this.#members.abandon(attempt.member, attempt.probe);
            return iterator.return?.(value) ?? Promise.resolve({ done: true, value });
          },
        };
      },
    };
  }

  #nobodyLeft({ session, trial, visited }: Call, last: { readonly thrown: unknown } | undefined): unknown {
    const indexes = [...this.#members.all.keys()];
    if (indexes.every((index) => visited.has(index) || trial.left.has(index))) {
      return new InferenceError({ type: "pool-attempts-exhausted", message: "pool attempts exhausted" }, last?.thrown);
    }
    if (last !== undefined) return last.thrown;
    if (!indexes.some((index) => this.#members.isHealthy(index))) {
      return new InferenceError({ type: "all-models-unavailable", message: "all models unavailable" });
    }
    const model = this.#members.all[session.member]?.model ?? "";
    return new InferenceError({ type: "provider", message: `model '${model}' is not available and its pool may not switch again` });
  }
}

/** What a member did wrong; undefined when it did nothing. A caller that gave up says so, one that waited too long says that. */
function memberFailure(thrown: unknown, { aborted, reason }: AbortSignal): InferenceFailure | undefined {
  if (aborted) return reason instanceof InferenceError ? reason.failure : undefined;
  return AwakenError.is(thrown) ? undefined : classify(thrown);
}

async function openMember(provider: Provider, request: InferenceRequest, options: InferenceOptions): Promise<AsyncIterable<StreamPart>> {
  const { signal } = options;
  const opening = provider.stream(request, options);
  if (Symbol.asyncIterator in opening) return opening;
  const raced = await raceAbort(opening, signal);
  if (raced.type === "value") return raced.value;
  opening.then(
    (stream) => closeIterator(stream[Symbol.asyncIterator]()),
    () => {},
  );
  throw new InferenceError({ type: "cancelled", message: "cancelled" });
}
