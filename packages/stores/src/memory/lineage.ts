import type { ThreadId } from "@awaken/contract";
import type { Tables } from "./tables.ts";

/** From this parent up to the root, as far as they exist. */
export function ancestorsOf(tables: Tables, thread: ThreadId, parent: ThreadId | undefined): readonly ThreadId[] {
  const ancestors: ThreadId[] = [];
  let id = parent;
  while (id !== undefined) {
    const above = tables.threads.get(id)?.record;
    if (above === undefined) break;
    ancestors.push(id);
    // A thread that stands above itself: the list needs no second round.
    if (id === thread) break;
    id = above.parentThreadId;
  }
  return ancestors;
}
