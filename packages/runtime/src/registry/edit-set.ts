import { AwakenError } from "@awaken/contract";
import { asBuildFailure, checkModelIds } from "./conflict.ts";
import { validateEdit, validateRegistry } from "./diagnostics.ts";
import type { Changes } from "./draft.ts";
import { Problems } from "./problems.ts";
import { CATEGORY, READ_ENTRY } from "./read-entry.ts";
import { type Entries, type RegistrySet, setOf, TABLE_NAMES, type TableName } from "./registry-set.ts";
import type { Table } from "./table.ts";

function editTable<Name extends TableName>(name: Name, set: RegistrySet, changes: Changes, problems: Problems): Table<Entries[Name]> {
  const table: Table<Entries[Name]> = set[name];
  const entries = new Map<string, Entries[Name] | undefined>();
  for (const [id, change] of changes[name]) {
    entries.set(id, change.type === "put" ? problems.attempt(() => READ_ENTRY[name](id, change.input)) : undefined);
  }
  return entries.size === 0 ? table : table.with(entries);
}

/** Whoever wrote an entry saw it as it was in `seen`; if it is another one by now, that change would be lost. */
function checkUntouched(seen: RegistrySet, current: RegistrySet, changes: Changes): void {
  if (seen === current) return;
  for (const name of TABLE_NAMES) {
    for (const id of changes[name].keys()) {
      if (seen[name].get(id) === current[name].get(id)) continue;
      throw new AwakenError("registry_conflict", `${CATEGORY[name]} '${id}' was changed by another update in the meantime`, {
        details: { category: CATEGORY[name], id },
      });
    }
  }
}

/** What is published, and whether it is known to be valid. */
export interface Published {
  readonly set: RegistrySet;
  readonly isValid: boolean;
}

/** The current set with the changes made, whole and valid. `seen` is the set that the changes were made for. */
export function editSet(seen: RegistrySet, { set: current, isValid }: Published, changes: Changes): RegistrySet {
  checkUntouched(seen, current, changes);
  const problems = new Problems();
  const next = setOf((name) => editTable(name, current, changes, problems));
  problems.throwAll();
  try {
    checkModelIds(next, changes.models, changes.pools);
  } catch (thrown) {
    throw asBuildFailure(thrown);
  }
  if (isValid) validateEdit(next, changes);
  else validateRegistry(next);
  return next;
}
