// Public: for whoever writes rules about calls, or a form for them.
export { compileToolCallPattern, type ToolCallMatcher } from "./pattern/compile-tool-call.ts";
// Public: for whoever writes rules about calls, or a form for them.
export { parseToolCallPattern } from "./pattern/parse-tool-call.ts";
// Public: for whoever writes rules about calls, or a form for them.
export { impossiblePaths } from "./pattern/schema-paths.ts";
// Public: for whoever writes rules about calls, or a form for them.
export {
  type ArgsPart,
  compareSpecificity,
  type FieldCondition,
  type Operator,
  type PathSegment,
  patternKey,
  printToolCallPattern,
  type ToolCallPattern,
  type ToolPart,
} from "./pattern/tool-call-pattern.ts";
// Public: for whoever compares values by globs.
export { compileValueGlob, type ValueGlob } from "./pattern/value-glob.ts";
