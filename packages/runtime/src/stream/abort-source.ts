import { onAbort } from "./abort.ts";

/** Is told of an abort. */
export interface AbortEar {
  aborted(): void;
}

/** Where our own parts hear of an abort: one that has come already is seen at the signal. Each ear is told once, also one that leaves while others are told. */
export interface AbortSource {
  readonly signal: AbortSignal;
  hear(ear: AbortEar): void;
  unhear(ear: AbortEar): void;
}

const NOBODY: readonly never[] = Object.freeze([]);

/** Joined and not spread: a list that is spread has room for sixteen more. */
const withEar = (ears: readonly AbortEar[], ear: AbortEar): readonly AbortEar[] => (ears.length === 0 ? [ear] : ears.concat(ear));

function without(ears: readonly AbortEar[], ear: AbortEar): readonly AbortEar[] {
  if (!ears.includes(ear)) return ears;
  return ears.length === 1 ? NOBODY : ears.filter((each) => each !== ear);
}

/**
 * A controller that tells our own parts itself, when listeners of its signal have heard: the first listener of a signal costs a run 0.4 KiB, an
 * ear nothing but its place in a list.
 */
export class HeardController extends AbortController implements AbortSource {
  #ears: readonly AbortEar[] = NOBODY;

  override abort(reason?: unknown): void {
    super.abort(reason);
    const ears = this.#ears;
    this.#ears = NOBODY;
    let failed: { readonly thrown: unknown } | undefined;
    for (const ear of ears) {
      try {
        ear.aborted();
      } catch (thrown) {
        // The others are told all the same.
        failed ??= { thrown };
      }
    }
    if (failed !== undefined) throw failed.thrown;
  }

  hear(ear: AbortEar): void {
    this.#ears = withEar(this.#ears, ear);
  }

  unhear(ear: AbortEar): void {
    this.#ears = without(this.#ears, ear);
  }
}

/** Of a signal whose controller is not ours. */
class HeardSignal implements AbortSource {
  readonly signal: AbortSignal;
  readonly #offs = new Map<AbortEar, () => void>();

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  hear(ear: AbortEar): void {
    this.#offs.set(
      ear,
      onAbort(this.signal, () => ear.aborted()),
    );
  }

  unhear(ear: AbortEar): void {
    this.#offs.get(ear)?.();
    this.#offs.delete(ear);
  }
}

export const abortSource = (given: AbortSource | AbortSignal): AbortSource => ("hear" in given ? given : new HeardSignal(given));
