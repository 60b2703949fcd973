import { AtRest, recordOf, type Table } from "./at-rest.ts";

export function* recordsIn<Id, Row extends object>(table: Table<Id, Row>): Iterable<Row> {
  for (const row of table.values()) yield recordOf(row);
}

/** Those that are not at rest. */
export function* awakeIn<Id, Row extends object>(table: Table<Id, Row>): Iterable<Row> {
  for (const row of table.values()) if (!(row instanceof AtRest)) yield row;
}
