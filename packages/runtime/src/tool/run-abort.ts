/** Those who wait for the abort of one run. */
interface Waiting {
  readonly all: Set<() => void>;
  readonly onAbort: () => void;
}

const waiting = new WeakMap<AbortSignal, Waiting>();

/**
 * Calls `fn` when the run aborts; gives the way to leave again. All calls of a run share one listener, which goes with the last of them: a
 * signal looks through its listeners for each one that is added, so that a turn of ten thousand calls would cost a hundred million looks.
 */
export function onRunAbort(run: AbortSignal, fn: () => void): () => void {
  const { all } = waiting.get(run) ?? listen(run);
  // One of its own: two calls may give the same function.
  const own = () => fn();
  all.add(own);
  return () => {
    if (all.delete(own) && all.size === 0) leave(run);
  };
}

function listen(run: AbortSignal): Waiting {
  const all = new Set<() => void>();
  const onAbort = () => {
    for (const tell of [...all]) tell();
  };
  const made = { all, onAbort };
  run.addEventListener("abort", onAbort);
  waiting.set(run, made);
  return made;
}

function leave(run: AbortSignal): void {
  const left = waiting.get(run);
  if (left !== undefined) run.removeEventListener("abort", left.onAbort);
  waiting.delete(run);
}
