import { AwakenError, errorMessage } from "@awaken/contract";

const BUSY = 5;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;
const CONSTRAINT = 19;
const MISMATCH = 20;
const FAILED_SYNCS: readonly number[] = [1034, 1290];

const HINTS: Readonly<Record<number, string>> = {
  5: "another process has locked the database",
  6: "the database is locked",
  8: "the database cannot be written",
  10: "the disk failed",
  13: "the disk or the size that the store may have is full",
  14: "the file cannot be opened",
};

/** The extended result code, when SQLite itself failed. */
function resultCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !("errcode" in thrown)) return undefined;
  return typeof thrown.errcode === "number" ? thrown.errcode : undefined;
}

const isPrimary = (thrown: unknown, code: number): boolean => ((resultCode(thrown) ?? 0) & 0xff) === code;

export const isConstraint = (thrown: unknown): boolean => isPrimary(thrown, CONSTRAINT);

/** Another connection is in the way; also when SQLite's error has become one of ours. */
export const isBusy = (thrown: unknown): boolean => isPrimary(AwakenError.is(thrown) ? thrown.cause : thrown, BUSY);

/** What SQLite or Node threw, with our code; our own errors as they are. */
export function toStorageError(thrown: unknown, place: string): AwakenError {
  if (AwakenError.is(thrown)) return thrown;
  const code = resultCode(thrown);
  const primary = (code ?? 0) & 0xff;
  const hint = HINTS[primary] ?? errorMessage(thrown);
  const details = { place, ...(code === undefined ? undefined : { sqliteCode: code }) };
  const init = { details, cause: thrown };
  if (primary === CORRUPT || primary === NOT_A_DATABASE) {
    return new AwakenError("storage_corrupt", `SQLite database '${place}' is damaged or no database: ${errorMessage(thrown)}`, init);
  }
  if (primary === CONSTRAINT || primary === MISMATCH) {
    return new AwakenError("data_integrity", `SQLite database '${place}': ${errorMessage(thrown)}`, init);
  }
  return new AwakenError("storage_io", `SQLite database '${place}': ${hint}`, init);
}

/** A COMMIT that failed while it synced may still be found after a crash. */
export function toCommitError(thrown: unknown, place: string): AwakenError {
  const code = resultCode(thrown);
  if (code === undefined || !FAILED_SYNCS.includes(code)) return toStorageError(thrown, place);
  return new AwakenError("commit_unknown", `SQLite database '${place}' could not sync a commit`, { details: { place }, cause: thrown });
}
