import type { InferenceRequest, Log } from "@awaken/contract";
import type { PoolSpec } from "@awaken/contract/spec";
import { BoundedMap } from "./bounded-map.ts";
import type { Members } from "./members.ts";

const MAX_SESSIONS = 4096;

/** A conversation and the member that serves it. */
export interface Session {
  readonly key: string;
  member: number;
  /** Since the last success. */
  switches: number;
}

const isBlank = (value: string | undefined): boolean => value === undefined || value.trim() === "";

/** Remembers which member serves which conversation; the least recently used are forgotten. */
export class Sessions {
  readonly #spec: PoolSpec;
  readonly #members: Members;
  readonly #log: Log;
  readonly #sessions = new BoundedMap<Session>(MAX_SESSIONS);
  #anonymous = 0;

  constructor(spec: PoolSpec, members: Members, log: Log) {
    this.#spec = spec;
    this.#members = members;
    this.#log = log;
  }

  /** What the conversation is known by, if it is known by anything. */
  keyOf({ routing = {} }: InferenceRequest): string | undefined {
    const sticky = this.#spec.routing.stickyScope === "thread" ? routing.threadId : routing.runId;
    return [sticky, routing.fallback, routing.inferenceId].find((candidate) => !isBlank(candidate));
  }

  of(request: InferenceRequest): Session {
    const key = this.keyOf(request);
    if (key !== undefined) return this.#sessions.getOrCreate(key, () => this.#open(key));
    this.#anonymous += 1;
    this.#log.warn("pool request without a routing key: it sticks to no member", { pool: this.#spec.id });
    return this.#open(`anonymous-${this.#anonymous}`);
  }

  /** Moves on, unless the budget of switches is spent. */
  move(session: Session, to: number): boolean {
    const limit = this.#spec.switch.maxSwitchesPerSession;
    if (limit !== undefined && session.switches >= limit) return false;
    session.member = to;
    session.switches += 1;
    return true;
  }

  #open(key: string): Session {
    return { key, member: this.#members.home(key), switches: 0 };
  }
}
