export { compileToolCallPattern, type ToolCallMatcher } from "./pattern/compile-tool-call.ts";
export { parseToolCallPattern } from "./pattern/parse-tool-call.ts";
export { impossiblePaths } from "./pattern/schema-paths.ts";
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
export { compileValueGlob, type ValueGlob } from "./pattern/value-glob.ts";
