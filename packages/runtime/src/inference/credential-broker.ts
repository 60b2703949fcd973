import { errorMessage, InferenceError, type InferenceFailure, type Secret } from "@awaken/contract";
import { childController, raceAbort } from "../stream/abort.ts";
import type { Clock } from "../stream/clock.ts";
import { sleep } from "../stream/sleep.ts";
import { statusOf } from "./classify.ts";
import { isTransient } from "./retry.ts";

export interface MintedToken {
  readonly token: Secret;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/**
 * Makes a token for a scope. Tried again after a failed fetch, a status of 500 and above, or a transient `InferenceError`;
 * whatever else it throws is final.
 */
export type Mint = (scope: string, signal: AbortSignal) => Promise<MintedToken>;

/** A token being made, for everybody who waits for it. */
interface Minting {
  readonly token: Promise<MintedToken>;
  readonly controller: AbortController;
  waiters: number;
}

interface Registration {
  readonly mint: Mint;
  readonly tokens: Map<string, MintedToken>;
  readonly mintings: Map<string, Minting>;
}

type Minted = { readonly type: "minted"; readonly token: MintedToken } | { readonly type: "failed"; readonly failure: InferenceFailure };

const REFRESH_BEFORE_MS = 60_000;
const MINT_TIMEOUT_MS = 15_000;
const ATTEMPTS = 3;
const BACKOFF_BASE_MS = 100;
const MAX_BACKOFF_MS = 1000;
const CANCELLED: InferenceFailure = { type: "cancelled", message: "cancelled" };

function mintFailure(thrown: unknown): InferenceFailure {
  if (thrown instanceof InferenceError) return thrown.failure;
  const status = statusOf(thrown);
  // fetch reports a broken network as a TypeError.
  const isPassing = status === undefined ? thrown instanceof TypeError : status >= 500;
  return { type: isPassing ? "provider" : "unauthorized", message: `no token: ${errorMessage(thrown)}` };
}

/**
 * Tokens that have to be made for providers: one per provider and scope, made once for all who wait, made anew a minute before
 * it ends. What was made from material that has been replaced since is neither kept nor given out.
 */
export class CredentialBroker {
  readonly #clock: Clock;
  readonly #registrations = new Map<string, Registration>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Replaces what was registered under this id, and all its tokens. */
  register(providerId: string, mint: Mint): void {
    this.#registrations.set(providerId, { mint, tokens: new Map(), mintings: new Map() });
  }

  remove(providerId: string): void {
    this.#registrations.delete(providerId);
  }

  async token(providerId: string, scope: string, signal: AbortSignal): Promise<Secret> {
    for (;;) {
      const registration = this.#registrations.get(providerId);
      if (registration === undefined) {
        throw new InferenceError({ type: "unauthorized", message: `provider '${providerId}' has no credentials` });
      }
      const cached = registration.tokens.get(scope);
      if (cached !== undefined && this.#clock.now() < cached.expiresAt - REFRESH_BEFORE_MS) return cached.token;
      const isCurrent = () => this.#registrations.get(providerId) === registration;
      try {
        const { token } = await this.#join(registration, scope, signal);
        if (isCurrent()) return token;
      } catch (thrown) {
        if (isCurrent() || signal.aborted) throw thrown;
      }
    }
  }

  /** Waits for the one minting of this scope. When the last waiter leaves, it is broken off. */
  async #join(registration: Registration, scope: string, signal: AbortSignal): Promise<MintedToken> {
    const minting = registration.mintings.get(scope) ?? this.#start(registration, scope);
    minting.waiters += 1;
    try {
      const raced = await raceAbort(minting.token, signal);
      if (raced.type === "value") return raced.value;
      throw new InferenceError(CANCELLED);
    } finally {
      minting.waiters -= 1;
      if (minting.waiters === 0) {
        // Whoever comes now must not join what is being broken off.
        if (registration.mintings.get(scope) === minting) registration.mintings.delete(scope);
        minting.controller.abort();
      }
    }
  }

  #start(registration: Registration, scope: string): Minting {
    const controller = new AbortController();
    const minting: Minting = { token: this.#mint(registration, scope, controller.signal), controller, waiters: 0 };
    registration.mintings.set(scope, minting);
    return minting;
  }

  async #mint({ mint, tokens }: Registration, scope: string, signal: AbortSignal): Promise<MintedToken> {
    for (let attempt = 1; ; attempt++) {
      const minted = await this.#mintInTime(mint, scope, signal);
      if (minted.type === "minted") {
        tokens.set(scope, minted.token);
        return minted.token;
      }
      if (attempt >= ATTEMPTS || !isTransient(minted.failure)) throw new InferenceError(minted.failure);
      const delayMs = Math.min(BACKOFF_BASE_MS * 2 ** (attempt - 1), MAX_BACKOFF_MS);
      if (!(await sleep(this.#clock, delayMs, signal))) throw new InferenceError(CANCELLED);
    }
  }

  async #mintInTime(mint: Mint, scope: string, signal: AbortSignal): Promise<Minted> {
    const { controller, dispose } = childController(signal);
    const stopTimer = this.#clock.timer(MINT_TIMEOUT_MS, () => controller.abort());
    try {
      const raced = await raceAbort(mint(scope, controller.signal), controller.signal);
      if (raced.type === "value") return { type: "minted", token: raced.value };
      const late: InferenceFailure = { type: "timeout", message: `no token within ${MINT_TIMEOUT_MS} ms` };
      return { type: "failed", failure: signal.aborted ? CANCELLED : late };
    } catch (thrown) {
      return { type: "failed", failure: mintFailure(thrown) };
    } finally {
      stopTimer();
      dispose();
    }
  }
}
