import type { Message } from "@awaken/contract";
import { flat, isList, isPlain, isSame, type Plain } from "./share.ts";

/** Most records have some list or object with nothing in it: one stands for all of them. */
const NO_ITEMS: readonly never[] = Object.freeze([]);
const NO_FIELDS: Plain = Object.freeze({});

/** A copy that nobody else holds: what a caller does to its objects later does not reach the store. For JSON. */
export function own<T>(value: T): T;
export function own(value: unknown): unknown {
  if (typeof value === "string") return flat(value);
  if (typeof value !== "object" || value === null) return value;
  if (isList(value)) return ownList(value);
  return isPlain(value) ? ownObject(value) : value;
}

function ownList(list: readonly unknown[]): readonly unknown[] {
  if (list.length === 0) return NO_ITEMS;
  // A slice takes no more room than its items; a list that grows keeps room for sixteen.
  const copy = list.slice();
  for (let index = 0; index < copy.length; index++) {
    const item = copy[index];
    if (typeof item === "object") copy[index] = own(item);
    else if (typeof item === "string") flat(item);
  }
  return copy;
}

function ownObject(object: Plain): Plain {
  // A spread takes no more room than its fields, and a field called `__proto__` is a field like any other.
  const copy = { ...object };
  let isEmpty = true;
  for (const key in copy) {
    isEmpty = false;
    const item = copy[key];
    if (typeof item === "object") copy[key] = own(item);
    else if (typeof item === "string") flat(item);
  }
  return isEmpty ? NO_FIELDS : copy;
}

/** As `own`, for an object with one field that is mostly the same as `like`, which is the store's own: then it is kept once. */
export function ownWith<T extends object, Key extends keyof T & string>(object: T, field: Key, like: T[Key] | undefined): T;
export function ownWith(object: Plain, field: string, like: unknown): Plain {
  const copy = { ...object };
  for (const key in copy) {
    const item = copy[key];
    if (typeof item === "object") copy[key] = key === field && isSame(item, like) ? like : own(item);
    else if (typeof item === "string") flat(item);
  }
  return copy;
}

/** Copies of messages. Those of a step mostly have the same metadata. */
export function ownMessages(like: Message["metadata"], messages: readonly Message[]): readonly Message[] {
  let last = like;
  return messages.map((message) => {
    const owned = ownWith(message, "metadata", last);
    last = owned.metadata;
    return owned;
  });
}

/** How what was not handed over becomes the store's own. */
export const copies = { own, ownWith, ownMessages };
export type Copies = typeof copies;
