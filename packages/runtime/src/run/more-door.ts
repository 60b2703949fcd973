import type { Children } from "../loop/children.ts";
import { type Door, type Late, whenThere } from "../stream/door.ts";
import type { ChildRuns } from "./child-runs.ts";
import type * as room from "./more.ts";

/** Verbs on runs that are on record, and runs that a run starts. Handed down: what is behind it starts runs itself. */
export type More = Door<typeof room>;

/** The runs that a run starts: what starts them is loaded with the first. */
export function laterChildren(...init: ConstructorParameters<typeof ChildRuns>): Children {
  const [{ more }] = init;
  let made: ChildRuns | undefined;
  const open = (): Late<ChildRuns> =>
    made ??
    whenThere(more.open(), (opened) => {
      made ??= new opened.ChildRuns(...init);
      return made;
    });
  return {
    run: async (order) => (await open()).run(order),
    find: async (id) => (await open()).find(id),
    cancel: async (ids) => (await open()).cancel(ids),
    tickets: async () => (await open()).tickets(),
  };
}
