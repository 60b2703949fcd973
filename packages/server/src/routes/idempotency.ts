import { AwakenError, type ErrorCode, type RunRecord, runId, threadId } from "@awaken/contract";
import type { Clock } from "@awaken/runtime";
import { sha256 } from "../http/access.ts";
import { activeRun, checkId, type Tenant } from "./served.ts";

/** A submit that may come again. */
export interface Repeatable {
  /** Made of the key: the same key names the same run. */
  readonly runId: string;
  /** Of the body; it stays with the run. */
  readonly requestId: string;
}

const KEY = /^[\x21-\x7e]{1,255}$/;

/** Undefined at once for one without a key. */
export function readRepeatable(headers: Headers, body: unknown): Promise<Repeatable> | undefined {
  const key = headers.get("idempotency-key");
  return key === null ? undefined : toRepeatable(key, body);
}

async function toRepeatable(key: string, body: unknown): Promise<Repeatable> {
  if (!KEY.test(key)) throw new AwakenError("invalid_id", "an Idempotency-Key has 1 to 255 printable characters and no spaces");
  const [ofKey, ofBody] = await Promise.all([sha256(key), sha256(JSON.stringify(body))]);
  return { runId: `key-${ofKey.slice(0, 40)}`, requestId: `body-${ofBody}` };
}

/** The run of an earlier submit with the same key; another body is refused. */
async function repeated({ records }: Tenant, { runId: id, requestId }: Repeatable): Promise<RunRecord | undefined> {
  const run = await records.runs.load(runId(id));
  if (run === undefined || run.activation.trace.transportRequestId === requestId) return run;
  throw new AwakenError("idempotency_conflict", "this Idempotency-Key was used before, with another body");
}

const isOf = (thrown: unknown, ...codes: readonly ErrorCode[]): boolean => AwakenError.is(thrown) && codes.includes(thrown.code);

/** The run itself is there already: a message, or a run with the same `dedupeKey`, may be, too, and is nothing to wait for. */
const isOfRun = (thrown: unknown, id: string): boolean =>
  AwakenError.is(thrown) && thrown.code === "storage_already_exists" && thrown.details["runId"] === id;

/** Somebody else may have been faster with the same key. */
const TAKEN = ["storage_already_exists", "invalid_activation", "invalid_resume", "thread_already_running"] as const;
const isTaken = (thrown: unknown): boolean => isOf(thrown, ...TAKEN);

/** How long is waited for the record of who was faster, from try to try. */
const WAITS_MS = [10, 20, 40, 80, 160, 320, 640, 1_280];

export interface Submit<T> {
  readonly clock: Clock;
  readonly key: Repeatable | undefined;
  readonly threadId: string | undefined;
  /** Nobody has done so with this key. */
  begin(): Promise<T>;
  /** Somebody has: this is his run. */
  again(run: RunRecord): T | Promise<T>;
}

/** Whoever has the thread is somebody else's run, and not the one of this key, which may have come on record since it was looked for. */
async function isBusy(tenant: Tenant, thread: string | undefined, own: string): Promise<boolean> {
  const found = thread === undefined ? undefined : await tenant.records.threads.load(threadId(thread));
  const active = found && (await activeRun(tenant, found));
  return active?.status === "running" && active.runId !== own;
}

/** A submit with a key happens once, however often and wherever it is made. */
export function submitOnce<T>(tenant: Tenant, submit: Submit<T>): Promise<T> {
  const { key, threadId: thread, begin } = submit;
  if (thread !== undefined) checkId(thread);
  return key === undefined ? begin() : submitWith(key, tenant, submit);
}

async function submitWith<T>(key: Repeatable, tenant: Tenant, { clock, threadId: thread, begin, again }: Submit<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    const before = await repeated(tenant, key);
    if (before !== undefined) return again(before);
    try {
      return await begin();
    } catch (thrown) {
      if (!isTaken(thrown)) throw thrown;
      const winner = await repeated(tenant, key);
      if (winner !== undefined) return again(winner);
      // Who was faster may have ended the run that waited, and not begun his own yet; or it has begun, and has no record yet.
      const waitMs = WAITS_MS[tries];
      const isHis = isOfRun(thrown, key.runId) || (isOf(thrown, "thread_already_running") && !(await isBusy(tenant, thread, key.runId)));
      if (waitMs === undefined || !isHis) throw thrown;
      await new Promise<void>((resolve) => void clock.timer(waitMs, resolve));
    }
  }
}
