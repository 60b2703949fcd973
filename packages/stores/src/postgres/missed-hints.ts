import { runId, scopeId, threadId } from "@awaken/contract";
import type { ScopedHint } from "@awaken/contract/store";
import { textOf } from "../sql/rows.ts";
import type { PgClient } from "./driver.ts";

const MAX_RUNS = 1_000;

/** What others want of runs and nobody took: what was told of it before a process listened went past it. */
export async function missedHints(client: PgClient, schema: string): Promise<readonly ScopedHint[]> {
  const { rows } = await client.query(
    `SELECT DISTINCT scope_id, thread_id, run_id FROM ${schema}.wish WHERE taken_at IS NULL LIMIT ${MAX_RUNS}`,
  );
  return rows.map((row) => ({
    type: "wake",
    scopeId: scopeId(textOf(row, "scope_id")),
    threadId: threadId(textOf(row, "thread_id")),
    runId: runId(textOf(row, "run_id")),
  }));
}
