// What other packages make their schemas of, imported as a whole: `import * as s from "@awaken/contract/schema"`.

export { atLeast, notBlank, positive } from "./checks.ts";
// Public: the declarations of whoever makes a schema of these name them.
export type { ObjectType } from "./containers.ts";
export { array, json, object, record, strictObject, taggedUnion, union } from "./containers.ts";
export { message } from "./issue.ts";
export type {
  // Public: the declarations of whoever makes a schema of these name it.
  Defaulted,
  input,
  // Public: the declarations of whoever makes a schema of these name it.
  Optional,
  output,
  Type,
} from "./type.ts";
// Public: the declarations of whoever makes a schema of these name them.
export type { Choice } from "./values.ts";
export { boolean, custom, enum, int, literal, number, string } from "./values.ts";
export { exactOptional, nullable, withDefault } from "./wrappers.ts";
