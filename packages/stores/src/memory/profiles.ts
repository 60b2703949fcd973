import { PROFILE_SCHEMA_VERSION, type ProfileStore, profileRecord } from "@awaken/contract/store";
import { own } from "./own.ts";
import { compareText } from "./pick.ts";
import { share } from "./share.ts";
import type { Access } from "./tables.ts";

export function profilePort({ read, write }: Access): ProfileStore {
  return {
    load: (owner, key) => read((tables) => share(tables.profiles.get(owner)?.get(key))),

    put: (owner, key, value) =>
      write(({ tables, journal, now }) => {
        const record = own(profileRecord.check({ schemaVersion: PROFILE_SCHEMA_VERSION, owner, key, value, updatedAt: now }));
        const values = tables.profiles.get(owner);
        if (values === undefined) journal.set(tables.profiles, owner, new Map([[key, record]]));
        else journal.set(values, key, record);
        return share(record);
      }),

    delete: (owner, key) =>
      write(({ tables, journal }) => {
        const values = tables.profiles.get(owner);
        if (values?.has(key) !== true) return;
        if (values.size === 1) journal.delete(tables.profiles, owner);
        else journal.delete(values, key);
      }),

    list: (owner) =>
      read((tables) => [...(tables.profiles.get(owner)?.values() ?? [])].sort((a, b) => compareText(a.key, b.key)).map(share)),

    clear: (owner) => write(({ tables, journal }) => journal.delete(tables.profiles, owner)),
  };
}
