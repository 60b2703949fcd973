// Public: for whoever writes rules about calls, or a form for them.
export { compileToolCallPattern, type ToolCallMatcher } from "./pattern/compile-tool-call.ts";
// Public: for whoever writes rules about calls, or a form for them.
export { parseToolCallPattern } from "./pattern/parse-tool-call.ts";
// Public: for whoever writes rules about calls, or a form for them.
export {
  type ArgsPart,
  type FieldCondition,
  type Operator,
  type PathSegment,
  printToolCallPattern,
  type ToolCallPattern,
  type ToolPart,
} from "./pattern/tool-call-pattern.ts";
