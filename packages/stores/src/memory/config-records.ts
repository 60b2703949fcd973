import {
  type ConfigKey,
  type ConfigStore,
  checkConfigRevision,
  readConfigRow,
  stampConfigRecord,
  toConfigRow,
} from "@awaken/contract/store";
import { own } from "./own.ts";
import { compareText, pickFirst } from "./pick.ts";
import { share } from "./share.ts";
import type { Access, Change } from "./tables.ts";

/** But for what watches it. */
export function configRows({ read, write }: Access): Omit<ConfigStore, "watch"> {
  return {
    load: ({ namespace, id }) => read((tables) => share(tables.config.get(namespace)?.get(id))),

    list: (namespace, { after, limit } = {}) =>
      read((tables) => {
        const entries = [...(tables.config.get(namespace)?.values() ?? [])].filter(({ id }) => after === undefined || id > after);
        const page = pickFirst(entries, (a, b) => compareText(a.id, b.id), limit);
        const last = page.hasMore ? page.items.at(-1) : undefined;
        return { items: page.items.map(share), ...(last === undefined ? undefined : { next: last.id }) };
      }),

    put: ({ namespace, id, record }, guard = {}) =>
      write((change) => {
        const { tables, journal, now } = change;
        const before = tables.config.get(namespace)?.get(id)?.record;
        checkConfigRevision(before, { namespace, id }, guard);
        const stamped = { namespace, id, record: stampConfigRecord(before, record, now) };
        const entry = own(readConfigRow(toConfigRow(stamped), { namespace, id }));
        const entries = tables.config.get(namespace);
        if (entries === undefined) journal.set(tables.config, namespace, new Map([[id, entry]]));
        else journal.set(entries, id, entry);
        announce(change, { namespace, id });
        return share(entry);
      }),

    delete: ({ namespace, id }, guard = {}) =>
      write((change) => {
        const { tables, journal } = change;
        const entries = tables.config.get(namespace);
        const before = entries?.get(id);
        checkConfigRevision(before?.record, { namespace, id }, guard);
        if (entries === undefined || before === undefined) return false;
        if (entries.size === 1) journal.delete(tables.config, namespace);
        else journal.delete(entries, id);
        announce(change, { namespace, id });
        return true;
      }),
  };
}

function announce({ tables, journal }: Change, key: ConfigKey): void {
  journal.after(() => tables.configChanges.send({ scopeId: tables.scopeId, key }));
}
