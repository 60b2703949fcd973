import { AwakenError } from "../error.ts";
import { AROUND_VALUES, isJson } from "../json.ts";
import { type Schema, validateSync } from "../schema.ts";

export interface RecordCheckInit<T> {
  readonly name: string;
  /** Of the current version. */
  readonly schema: Schema<T>;
  /** A fast answer for what is written and read often: yes only to JSON that the schema gives back unchanged, and that is then taken itself. */
  readonly accepts?: (value: unknown, depth: number) => value is T;
}

const NOT_JSON = { type: "invalid", message: "it holds something that JSON cannot carry" } as const;

/** The check of one kind of record before it is written, for those who read none: anything but JSON that fits throws `storage_validation`. */
/* @__NO_SIDE_EFFECTS__ */
export function recordCheck<T>({ name, schema, accepts }: RecordCheckInit<T>): (value: unknown) => T {
  return (value) => {
    if (accepts?.(value, AROUND_VALUES)) return value;
    const result = isJson(value, AROUND_VALUES) ? validateSync(schema, value) : NOT_JSON;
    if (result.type === "valid") return result.value;
    throw new AwakenError("storage_validation", `${name} cannot be stored: ${result.message}`, { details: { record: name } });
  };
}
