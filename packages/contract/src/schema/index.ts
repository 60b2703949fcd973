// What other packages make their schemas of, imported as a whole: `import * as s from "@awaken/contract/schema"`.

export { atLeast, notBlank, positive } from "./checks.ts";
export { array, json, object, record, strictObject, taggedUnion, union } from "./containers.ts";
export { message } from "./issue.ts";
export type { input, output, Type } from "./type.ts";
export { boolean, custom, enum, int, literal, number, string } from "./values.ts";
export { exactOptional, nullable, withDefault } from "./wrappers.ts";
