import type { Secret } from "../secret.ts";

/** Read-only all the way down, as specs are once they are parsed. The values of a map are JSON, which is read-only already. */
export type Immutable<T> = T extends Secret ? T : string extends keyof T ? Readonly<T> : { readonly [Key in keyof T]: Immutable<T[Key]> };

/** What may be written for a stored spec: its id is the key that it is registered under, so it can be left out. */
export type SpecInput<Stored> = Stored extends { readonly id: string }
  ? Immutable<
      Omit<Stored, "id"> & {
        /** The key that it is registered under; need not be written. */
        id?: string;
      }
    >
  : never;
