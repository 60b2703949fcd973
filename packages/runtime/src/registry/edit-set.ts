import { AwakenError } from "@awaken/contract";
import { asBuildFailure, checkModelIds } from "./conflict.ts";
import { validateEdit, validateRegistry } from "./diagnostics.ts";
import type { OpenDraft } from "./draft.ts";
import { Problems } from "./problems.ts";
import { READ_ENTRY } from "./read-entry.ts";
import { categoryOf, type Entries, perTable, type RegistrySet, type TableName } from "./registry-set.ts";
import type { Table } from "./table.ts";

/** What is published, and whether it is known to be valid. */
export interface Published {
  readonly set: RegistrySet;
  readonly isValid: boolean;
}

/** The current set with the changes made, whole and valid. */
export function editSet({ set: current, isValid }: Published, { seen, changes }: OpenDraft): RegistrySet {
  const problems = new Problems();
  function editTable<Name extends TableName>(name: Name): Table<Entries[Name]> {
    const table: Table<Entries[Name]> = current[name];
    const entries = new Map<string, Entries[Name] | undefined>();
    for (const [id, change] of changes[name]) {
      // Whoever wrote an entry saw it as it was then; if it is another one by now, that change would be lost.
      if (seen[name].get(id) !== table.get(id)) throw changedMeanwhile(name, id);
      entries.set(id, change && problems.attempt(() => READ_ENTRY[name](id, change.input)));
    }
    return entries.size === 0 ? table : table.with(entries);
  }
  const next = perTable(editTable);
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

function changedMeanwhile(name: TableName, id: string): AwakenError {
  const category = categoryOf(name);
  return new AwakenError("registry_conflict", `${category} '${id}' was changed by another update in the meantime`, {
    details: { category, id },
  });
}
