import type { RunId, ScopeId } from "@awaken/contract";
import { type StreamCheckpointStore, streamCheckpoint } from "@awaken/contract/store";
import { jsonOf } from "../sql/rows.ts";
import type { Access } from "./access.ts";
import { keeping, type Tx } from "./database.ts";

export function dropCheckpoint(tx: Tx, scopeId: ScopeId, runId: RunId, step: number): void {
  tx.run("DELETE FROM stream_checkpoint WHERE scope_id = ? AND run_id = ? AND step = ?", scopeId, runId, step);
}

export function streamCheckpointPort({ scopeId, session }: Access): StreamCheckpointStore {
  return {
    put: (checkpoint) =>
      session.write(
        keeping((tx) => {
          const record = streamCheckpoint.check(checkpoint);
          tx.run(
            `INSERT INTO stream_checkpoint (scope_id, run_id, step, thread_id, updated_at, record) VALUES (?, ?, ?, ?, ?, ?)
           ON CONFLICT (scope_id, run_id, step) DO UPDATE SET
             thread_id = excluded.thread_id, updated_at = excluded.updated_at, record = excluded.record`,
            ...[scopeId, record.runId, record.step, record.threadId, record.updatedAt, JSON.stringify(record)],
          );
        }),
      ),

    load: (runId, step) =>
      session.read((db) => {
        const sql = "SELECT record FROM stream_checkpoint WHERE scope_id = ? AND run_id = ? AND step = ?";
        const row = db.get(sql, scopeId, runId, step);
        return row && streamCheckpoint.read(jsonOf(row, "record"), `${runId}#${step}`);
      }),

    delete: (runId, step) => session.write((tx) => dropCheckpoint(tx, scopeId, runId, step)),
  };
}
