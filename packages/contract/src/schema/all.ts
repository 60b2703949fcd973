// The schemas that contract is made of, meant to be imported as a whole: `import * as s from "./schema/all.ts"`.

export { atLeast, atMost, meta, notBlank, positive, refine, rule, toLowerCase, trim } from "./checks.ts";
export {
  array,
  type Fields,
  json,
  type ObjectType,
  object,
  openObject,
  partialObject,
  record,
  strictObject,
  taggedUnion,
  union,
} from "./containers.ts";
export { describeType, expected, type Issue, message, problem } from "./issue.ts";
export { type Check, type Defaulted, type Definitions, guardOf, type input, type Optional, type output, type Type } from "./type.ts";
export { boolean, type Choice, custom, enum, int, literal, number, string, text } from "./values.ts";
export {
  exactOptional,
  fromText,
  named,
  narrow,
  nullable,
  optional,
  pipe,
  readonly,
  transform,
  withDefault,
} from "./wrappers.ts";
