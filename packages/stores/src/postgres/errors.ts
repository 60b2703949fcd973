import { AwakenError, errorMessage } from "@awaken/contract";

/** The SQLSTATE, when the server answered with one. */
function sqlState(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !("code" in thrown)) return undefined;
  return typeof thrown.code === "string" && /^[0-9A-Z]{5}$/.test(thrown.code) ? thrown.code : undefined;
}

function constraintOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !("constraint" in thrown)) return undefined;
  return typeof thrown.constraint === "string" ? thrown.constraint : undefined;
}

const UNIQUE = "23505";
const SERIALIZATION: readonly string[] = ["40001", "40P01"];
/** Text with NUL, an index entry that is too large, a number that is out of range or none. */
const UNFIT: readonly string[] = ["22021", "54000", "22003", "22P02", "22P05"];

/** The server has ended the connection, or it never was one: whether the last statement was done is not known. */
export function isConnectionLost(thrown: unknown): boolean {
  if (AwakenError.is(thrown)) return false;
  const state = sqlState(thrown);
  return state === undefined || state.startsWith("08") || state.startsWith("57P");
}

/** Another transaction was in the way: everything is rolled back, and the same work may find things otherwise. */
export function isWorthAnotherTry(thrown: unknown): boolean {
  const state = sqlState(thrown) ?? "";
  return SERIALIZATION.includes(state) || (state === UNIQUE && constraintOf(thrown) !== MESSAGE_ID);
}

/** The server cancelled the statement. It is not sent again at once: that may take as long once more. */
export const isCancelled = (thrown: unknown): boolean => sqlState(thrown) === "57014";

/** The statement took too long, or waited too long for a lock. */
export const isOutOfTime = (thrown: unknown): boolean => isCancelled(thrown) || sqlState(thrown) === "55P03";

/** It asks for what is not there, or may not be used: that is so the next time too. */
export const isMissing = (thrown: unknown): boolean => ["42501", "42883"].includes(sqlState(thrown) ?? "");

/** The index that makes message ids unique in their thread. */
const MESSAGE_ID = "message_id";

/** What `pg` or the server threw, with our code; our own errors as they are. */
export function toStorageError(thrown: unknown): AwakenError {
  if (AwakenError.is(thrown)) return thrown;
  const state = sqlState(thrown);
  const init = { details: state === undefined ? {} : { sqlState: state }, cause: thrown };
  const message = errorMessage(thrown) || "no connection";
  if (state === UNIQUE && constraintOf(thrown) === MESSAGE_ID) {
    return new AwakenError("storage_validation", "a message of the delta is in the log of the thread already", init);
  }
  if (state !== undefined && UNFIT.includes(state)) {
    return new AwakenError("storage_validation", `PostgreSQL cannot take a value: ${message}`, init);
  }
  if (isWorthAnotherTry(thrown)) {
    return new AwakenError("version_conflict", "somebody else has changed what this transaction changes; nothing of it stays", init);
  }
  return new AwakenError("storage_io", `PostgreSQL: ${message}`, init);
}

export const commitUnknown = (cause: unknown): AwakenError =>
  new AwakenError("commit_unknown", "the connection to PostgreSQL was lost before the answer to COMMIT came", { cause });
