import type { ThreadHead, ThreadStore } from "@awaken/contract/store";
import { effectiveOf } from "./messages.ts";
import { share } from "./share.ts";
import type { Access, Tables, ThreadRow } from "./tables.ts";

/** What runs ask for. */
export function threadReads({ read }: Access): Pick<ThreadStore, "load" | "loadState" | "loadHead"> {
  return {
    load: (id) => read((tables) => share(tables.threads.get(id)?.record)),

    loadState: (id) => read((tables) => share(tables.threads.get(id)?.state)),

    loadHead: (id) => read((tables) => headOf(tables, tables.threads.get(id))),
  };
}

export function headOf(tables: Tables, row: ThreadRow | undefined): ThreadHead | undefined {
  const record = row?.record;
  if (row === undefined || record === undefined || (row.messages.length === 0 && row.runIds === undefined)) return undefined;
  const { state, messages } = row;
  const { latestRun, openRunId } = record;
  const latest = latestRun === undefined ? undefined : tables.runs.get(latestRun.id);
  const open = openRunId === undefined ? undefined : tables.runs.get(openRunId);
  return {
    thread: share(record),
    messages: effectiveOf(row),
    messageCount: messages.length,
    ...(latest === undefined ? undefined : { latestRun: share(latest) }),
    ...(open === undefined ? undefined : { openRun: share(open) }),
    ...(state === undefined ? undefined : { state: share(state) }),
  };
}
