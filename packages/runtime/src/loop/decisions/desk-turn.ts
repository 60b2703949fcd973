import type { RunContext } from "../run-context.ts";

/** One after the other: nobody else decides between a judgement and what comes of it. */
export function inTurn<T>({ desk }: RunContext, decide: () => Promise<T>): Promise<T> {
  const taken = (desk.taking ?? Promise.resolve()).then(decide);
  const taking = taken
    .catch(() => {})
    .then(() => {
      if (desk.taking === taking) desk.taking = undefined;
    });
  desk.taking = taking;
  return taken;
}
