import { AwakenError, isJsonObject, type JsonObject } from "@awaken/contract";
import type { Page, RecordKind } from "@awaken/contract/store";

/** A row as an engine gives it. */
export type Row = { readonly [column: string]: unknown };

function unfit(row: Row, column: string): AwakenError {
  return new AwakenError("storage_corrupt", `column '${column}' of a row holds a ${row[column] === null ? "null" : typeof row[column]}`);
}

export function textOf(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === "string") return value;
  throw unfit(row, column);
}

/** Engines give 64-bit integers as text or bigint. */
export function numberOf(row: Row, column: string): number {
  const value = Number(row[column] ?? Number.NaN);
  if (Number.isFinite(value)) return value;
  throw unfit(row, column);
}

/** The text when there is one: null stands for none. */
export function textIn(row: Row, column: string): string | undefined {
  return row[column] === null ? undefined : textOf(row, column);
}

/** The JSON of a column; what is no JSON reads as null, which fits no record. */
export function jsonOf(row: Row, column: string): unknown {
  const value = row[column];
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
}

/** `own` are the fields that the row keeps in columns of their own. */
export function readRecord<T>(kind: RecordKind<T>, stored: unknown, key: string, own: JsonObject = {}): T {
  return kind.read(isJsonObject(stored) ? { ...stored, ...own } : stored, key);
}

/** As `kind.read`, for kinds whose `check` has a fast way for what is right: only what it refuses is looked at twice. */
export function readFast<T>(kind: RecordKind<T>, stored: unknown, key: string): T {
  if (isJsonObject(stored) && stored["schemaVersion"] === kind.version) {
    try {
      return kind.check(stored);
    } catch {
      // `read` says what is wrong with it.
    }
  }
  return kind.read(stored, key);
}

/** What is done for all of them is done without those that cannot be read: whoever asks for one of these is told. */
export const readable = <T>(rows: readonly Row[], read: (row: Row) => T): readonly T[] =>
  rows.flatMap((row) => {
    try {
      return [read(row)];
    } catch (thrown) {
      if (AwakenError.is(thrown)) return [];
      throw thrown;
    }
  });

/** `rows` hold one more than the page when there is more behind it. */
export function toPage<T, Position>(rows: readonly T[], limit: number, positionOf: (item: T) => Position): Page<T, Position> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return rows.length > limit && last !== undefined ? { items, next: positionOf(last) } : { items };
}
