import type { ThreadId } from "@awaken/contract";
import type { Tables } from "./tables.ts";

/** The children of every thread that has some. */
function childrenOf(tables: Tables): ReadonlyMap<ThreadId, readonly ThreadId[]> {
  const children = new Map<ThreadId, ThreadId[]>();
  for (const row of tables.threads.values()) {
    const { record } = row;
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
