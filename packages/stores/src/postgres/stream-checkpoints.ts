import type { RunId, ScopeId } from "@awaken/contract";
import { type StreamCheckpointStore, streamCheckpoint } from "@awaken/contract/store";
import { jsonOf } from "../sql/rows.ts";
import type { Access } from "./access.ts";
import { type Statement, sql } from "./statement.ts";

export const dropCheckpoint = (scopeId: ScopeId, runId: RunId, step: number): Statement =>
  sql("DELETE FROM ~stream_checkpoint WHERE scope_id = $1 AND run_id = $2 AND step = $3", scopeId, runId, step);

export function streamCheckpointPort({ scopeId, session }: Access): StreamCheckpointStore {
  return {
    async put(checkpoint) {
      const record = streamCheckpoint.check(checkpoint);
      const put = sql(
        `INSERT INTO ~stream_checkpoint (scope_id, run_id, step, thread_id, updated_at, record) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (scope_id, run_id, step) DO UPDATE SET
           thread_id = excluded.thread_id, updated_at = excluded.updated_at, record = excluded.record`,
        ...[scopeId, record.runId, record.step, record.threadId, record.updatedAt, JSON.stringify(record)],
      );
      await session.write(async () => ({ writes: [put], result: undefined }));
    },

    async load(runId, step) {
      const text = "SELECT record FROM ~stream_checkpoint WHERE scope_id = $1 AND run_id = $2 AND step = $3";
      const rows = await session.read(sql(text, scopeId, runId, step));
      return rows.map((row) => streamCheckpoint.read(jsonOf(row, "record"), `${runId}#${step}`))[0];
    },

    delete: (runId, step) => session.write(async () => ({ writes: [dropCheckpoint(scopeId, runId, step)], result: undefined })),
  };
}
