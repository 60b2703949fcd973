import type { RunOrder } from "../loop/run-order.ts";
import type { RunParts } from "./run-parts.ts";
import { type StartedRun, startRun } from "./start-run.ts";

/** Starts it. `begun` resolves when the run is set up and what it goes on with is on record; it rejects when the run cannot begin. */
export function beginRun(parts: RunParts, order: RunOrder): StartedRun & { readonly begun: Promise<void> } {
  const begun = Promise.withResolvers<void>();
  const { run, result } = startRun(parts, order, undefined, begun.resolve);
  // Whoever wants to know looks at one of the two.
  begun.promise.catch(() => {});
  result.catch(begun.reject);
  return { run, result, begun: begun.promise };
}
