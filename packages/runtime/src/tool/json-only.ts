import type { JsonValue } from "@awaken/contract";
import type { Reply } from "./plain-reply.ts";

/** What JSON carries, and what says itself what is left of it, as a Date does. */
type Carried = JsonValue | undefined | void | { toJSON(): unknown } | Reply;

type NoJson = { readonly "no JSON": never };

/** Types are compared by shape, and `{ name, message }` has all that an Error needs: one is known by what it may have. */
type IsError<T> = T extends Error ? ("stack" | "cause" extends keyof T ? true : false) : false;

/** The type with what JSON would lose taken out. An instance of a class is seen by its methods; of the others the call tells. */
type Kept<T> = unknown extends T
  ? T
  : T extends Carried
    ? T
    : T extends bigint | symbol | ((...given: never) => unknown)
      ? NoJson
      : T extends readonly unknown[]
        ? readonly Kept<T[number]>[]
        : IsError<T> extends true
          ? NoJson
          : { readonly [K in keyof T]: Kept<T[K]> };

/** Lets a tool through whose `execute` gives JSON. `unknown` is not looked at here: what it turns out to be is checked at the call. */
export type JsonOnly<O> = [O] extends [Kept<O>]
  ? unknown
  : { readonly execute: "`execute` must return JSON: no Map, Set, Error, function, symbol, bigint or object with methods" };
