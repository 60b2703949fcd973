import { AwakenError, type RunRecord, runId } from "@awaken/contract";
import { sha256 } from "../http/access.ts";
import type { Tenant } from "./served.ts";

/** A submit that may come again. */
export interface Repeatable {
  /** Made of the key: the same key names the same run. */
  readonly runId: string;
  /** Of the body; it stays with the run. */
  readonly requestId: string;
}

const KEY = /^[\x21-\x7e]{1,255}$/;

export async function readRepeatable(headers: Headers, body: unknown): Promise<Repeatable | undefined> {
  const key = headers.get("idempotency-key");
  if (key === null) return undefined;
  if (!KEY.test(key)) throw new AwakenError("invalid_id", "an Idempotency-Key has 1 to 255 printable characters and no spaces");
  const [ofKey, ofBody] = await Promise.all([sha256(key), sha256(JSON.stringify(body))]);
  return { runId: `key-${ofKey.slice(0, 40)}`, requestId: `body-${ofBody}` };
}

/** The run of an earlier submit with the same key; another body is refused. */
export async function repeated({ records }: Tenant, { runId: id, requestId }: Repeatable): Promise<RunRecord | undefined> {
  const run = await records.runs.load(runId(id));
  if (run === undefined || run.activation.trace.transportRequestId === requestId) return run;
  throw new AwakenError("idempotency_conflict", "this Idempotency-Key was used before, with another body");
}

/** Whether somebody else was faster with the same key. */
export const isTaken = (thrown: unknown): boolean =>
  AwakenError.is(thrown) && (thrown.code === "storage_already_exists" || thrown.code === "invalid_activation");
