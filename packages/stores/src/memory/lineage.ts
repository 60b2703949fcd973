import type { ThreadId } from "@awaken/contract";
import { checkLineage, type ThreadRecord } from "@awaken/contract/store";
import type { Tables } from "./tables.ts";

/** Throws `storage_validation` unless the thread may stand under the parent that it names. */
export function checkParent(tables: Tables, thread: ThreadRecord): void {
  const ancestors: ThreadId[] = [];
  let id = thread.parentThreadId;
  while (id !== undefined) {
    const parent = tables.threads.get(id)?.record;
    if (parent === undefined) break;
    ancestors.push(id);
    // A thread that stands above itself: the list needs no second round.
    if (id === thread.id) break;
    id = parent.parentThreadId;
  }
  checkLineage(thread, ancestors);
}

/** The children of every thread that has some. */
function childrenOf(tables: Tables): ReadonlyMap<ThreadId, readonly ThreadId[]> {
  const children = new Map<ThreadId, ThreadId[]>();
  for (const { record } of tables.threads.values()) {
    if (record?.parentThreadId === undefined) continue;
    const siblings = children.get(record.parentThreadId);
    if (siblings === undefined) children.set(record.parentThreadId, [record.id]);
    else siblings.push(record.id);
  }
  return children;
}

export const directChildren = (tables: Tables, id: ThreadId): readonly ThreadId[] => childrenOf(tables).get(id) ?? [];

/** The thread and all below it. */
export function familyOf(tables: Tables, id: ThreadId): readonly ThreadId[] {
  const children = childrenOf(tables);
  const family = [id];
  for (const member of family) family.push(...(children.get(member) ?? []));
  return family;
}
