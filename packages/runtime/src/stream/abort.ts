/** Calls `fn` when the signal aborts, at once if it already has. The returned function takes the listener away. */
export function onAbort(signal: AbortSignal, fn: () => void): () => void {
  if (signal.aborted) {
    fn();
    return () => {};
  }
  // A listener of its own: a signal takes the same function only once.
  const listener = () => fn();
  signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
}

/**
 * A controller that aborts when the parent does and may abort alone. `dispose` unlinks it: unlike `AbortSignal.any`,
 * nothing stays attached to a long-lived parent.
 */
export function childController(parent: AbortSignal | undefined): { readonly controller: AbortController; readonly dispose: () => void } {
  const controller = new AbortController();
  const dispose = parent === undefined ? () => {} : onAbort(parent, () => controller.abort(parent.reason));
  return { controller, dispose };
}

export type Raced<T> = { readonly type: "value"; readonly value: T } | { readonly type: "aborted" };

/** The promise or the abort, whichever is first. A rejection after the abort is swallowed: nobody waits for it any more. */
export function raceAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<Raced<T>> {
  return new Promise((resolve, reject) => {
    const off = onAbort(signal, () => resolve({ type: "aborted" }));
    promise.then(
      (value) => {
        off();
        resolve({ type: "value", value });
      },
      (thrown) => {
        off();
        reject(thrown);
      },
    );
  });
}
