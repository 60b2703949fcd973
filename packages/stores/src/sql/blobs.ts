import { createHash } from "node:crypto";
import { AwakenError } from "@awaken/contract";
import { jsonOf, type Row } from "./rows.ts";

/** A part of a record that is stored beside it, under the hash of its JSON. */
export interface Blob {
  readonly hash: string;
  readonly body: string;
}

/** A record as a row keeps it: what was cut out is null in `text`, and `parts` says what belongs where. */
export interface Encoded {
  readonly text: string;
  readonly parts: string | null;
  readonly blobs: readonly Blob[];
}

type Path = readonly string[];

/** Cuts out the smallest parts of the record that are above the limit. A record below it costs no more than its JSON. */
export function encodeRecord(record: object, limit: number): Encoded {
  const text = JSON.stringify(record);
  if (text.length <= limit) return { text, parts: null, blobs: [] };
  const blobs: Blob[] = [];
  const parts: [Path, string][] = [];

  const cutChildren = (holder: object, path: Path): boolean => {
    let hasCut = false;
    for (const key of Object.keys(holder)) {
      const child: unknown = Reflect.get(holder, key);
      const body = JSON.stringify(child);
      if (body.length <= limit) continue;
      hasCut = true;
      const place = [...path, key];
      if (typeof child === "object" && child !== null && cutChildren(child, place)) continue;
      const hash = createHash("sha256").update(body).digest("hex");
      blobs.push({ hash, body });
      parts.push([place, hash]);
      Reflect.set(holder, key, null);
    }
    return hasCut;
  };

  const rest: object = JSON.parse(text);
  if (!cutChildren(rest, [])) return { text, parts: null, blobs };
  return { text: JSON.stringify(rest), parts: JSON.stringify(parts), blobs };
}

type Part = readonly [Path, string];

function isPart(value: unknown): value is Part {
  return Array.isArray(value) && value.length === 2 && Array.isArray(value[0]) && typeof value[1] === "string";
}

function partsOf(row: Row): readonly Part[] {
  if (row["parts"] === null || row["parts"] === undefined) return [];
  const parts = jsonOf(row, "parts");
  if (Array.isArray(parts) && parts.every(isPart)) return parts;
  throw new AwakenError("storage_corrupt", "a row does not say where its large parts belong");
}

/** The JSON of the row with its large parts put back; `key` names the row when one of them is gone. */
export function decodeRecord(row: Row, key: string, bodyOf: (hash: string) => string | undefined): unknown {
  const stored = jsonOf(row, "record");
  for (const [path, hash] of partsOf(row)) {
    const body = bodyOf(hash);
    const holder = path.slice(0, -1).reduce<unknown>((value, step) => (isObject(value) ? Reflect.get(value, step) : undefined), stored);
    if (body === undefined || !isObject(holder)) {
      throw new AwakenError("storage_corrupt", `part ${path.join(".")} of row '${key}' is missing`, { details: { key, hash } });
    }
    Reflect.set(holder, path.at(-1) ?? "", JSON.parse(body));
  }
  return stored;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
