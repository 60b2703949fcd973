import type { Schema } from "@awaken/contract";
import type { Type } from "@awaken/contract/schema";
import { Door, whenThere } from "../stream/door.ts";

export type LateState = typeof import("./schemas.ts");

/** Whoever changes such a value, or reads one from records, has opened it: the doors of those who do open it first. */
export const schemas = new Door(() => import("./schemas.ts"));

/** Another part, with the schemas of what it changes. */
export async function withSchemas<Part>(load: () => Promise<Part>): Promise<Part> {
  await schemas.open();
  return load();
}

/** The schema of a value that most runs have none of. What is validated before it is there waits for it, as a payload can and state cannot. */
export const lateSchema = <Out, In>(pick: (room: LateState) => Type<Out, In>): Schema<Out> & Pick<Type, "fits"> => ({
  "~standard": {
    version: 1,
    vendor: "awaken",
    validate: (value) => whenThere(schemas.open(), (room) => pick(room)["~standard"].validate(value)),
  },
  fits: (value, depth) => schemas.room !== undefined && pick(schemas.room).fits(value, depth),
});
