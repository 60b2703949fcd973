import type { InferenceRequest } from "@awaken/contract";
import { BoundedMap } from "./bounded-map.ts";
import type { Session } from "./session.ts";

const MAX_TRIALS = 4096;

/** What one logical inference did in the pool. */
export interface Trial {
  /** Members that policy moved away from: never asked again by this inference. */
  readonly left: Set<number>;
  /** The newest stream; reports about older ones do not move the conversation. */
  current: Attempt | undefined;
  inFlight: number;
}

/** One stream that a member opened. */
export interface Attempt {
  readonly member: number;
  readonly probe: number;
  readonly session: Session;
  readonly trial: Trial;
  /** What the member was asked, for reports to it. */
  readonly request: InferenceRequest;
  /** The longest wait that the caller makes. */
  readonly maxRetryAfterMs: number | undefined;
  isOver: boolean;
}

function trialKey(sessionKey: string, { routing }: InferenceRequest): string | undefined {
  const id = routing?.inferenceId ?? "";
  return id.trim() === "" ? undefined : `${sessionKey}\0${id}`;
}

/** Finds the stream that a report is about. */
export class Attempts {
  readonly #trials = new BoundedMap<Trial>(MAX_TRIALS, ({ inFlight }) => inFlight > 0);
  readonly #byRequest = new WeakMap<InferenceRequest, Attempt>();

  get trials(): number {
    return this.#trials.size;
  }

  trial({ key: sessionKey }: Session, request: InferenceRequest): Trial {
    const create = (): Trial => ({ left: new Set(), current: undefined, inFlight: 0 });
    const key = trialKey(sessionKey, request);
    return key === undefined ? create() : this.#trials.getOrCreate(key, create);
  }

  open(request: InferenceRequest, attempt: Attempt): void {
    attempt.trial.current = attempt;
    attempt.trial.inFlight += 1;
    this.#byRequest.set(request, attempt);
  }

  /** By the request itself; where something between rewrote it, by the inference that it belongs to. */
  find(request: InferenceRequest, sessionKey: string | undefined): Attempt | undefined {
    const known = this.#byRequest.get(request);
    const key = known === undefined && sessionKey !== undefined ? trialKey(sessionKey, request) : undefined;
    return key === undefined ? known : this.#trials.get(key)?.current;
  }

  /** The newest stream of the inference that the request belongs to. */
  latest(request: InferenceRequest, sessionKey: string | undefined): Attempt | undefined {
    const key = sessionKey === undefined ? undefined : trialKey(sessionKey, request);
    return (key === undefined ? undefined : this.#trials.get(key)?.current) ?? this.#byRequest.get(request);
  }

  /** False when this attempt was over before: each counts once. */
  close(attempt: Attempt): boolean {
    if (attempt.isOver) return false;
    attempt.isOver = true;
    attempt.trial.inFlight -= 1;
    return true;
  }
}
