/** Which tools a pattern is about. */
export type ToolPart =
  | {
      readonly type: "exact";
      /** The id itself. */
      readonly id: string;
    }
  | {
      readonly type: "glob";
      /** Compared with the whole id. */
      readonly glob: string;
    }
  | {
      readonly type: "regex";
      /** Searched for in the id. */
      readonly source: string;
    };

/** One step into the input of a call. */
export type PathSegment =
  | {
      readonly type: "key";
      /** Of an object. */
      readonly key: string;
    }
  | { readonly type: "any-key" }
  | {
      readonly type: "index";
      /** Of a list, from 0. */
      readonly index: number;
    }
  | { readonly type: "any-index" };

export const OPERATORS = ["glob", "exact", "regex", "not-glob", "not-exact", "not-regex"] as const;

/** How a value is compared. A negated one needs a value too: what is not there differs from nothing. */
export type Operator = (typeof OPERATORS)[number];

/** What one place of the input has to be. */
export interface FieldCondition {
  /** Where; it may lead to several values, and one that fits is enough. */
  readonly path: readonly PathSegment[];
  /** How. */
  readonly op: Operator;
  /** With what. */
  readonly value: string;
}

/** Which inputs a pattern is about. */
export type ArgsPart =
  | { readonly type: "any" }
  | {
      readonly type: "primary";
      /** Compared with the one value of the input, or with its JSON text when it has several. */
      readonly glob: string;
    }
  | {
      readonly type: "fields";
      /** All of them must hold. */
      readonly conditions: readonly FieldCondition[];
    };

/** A tool-call pattern as data: `Bash(npm *)`, `mcp__github__*`, `Edit(file_path ~ "src/*")`. */
export interface ToolCallPattern {
  /** Which tools. */
  readonly tool: ToolPart;
  /** Which inputs. */
  readonly args: ArgsPart;
}

export const SYMBOLS: { readonly [O in Operator]: string } = {
  glob: "~",
  exact: "=",
  regex: "=~",
  "not-glob": "!~",
  "not-exact": "!=",
  "not-regex": "!=~",
};

function printTool(tool: ToolPart): string {
  switch (tool.type) {
    case "exact":
      return tool.id;
    case "glob":
      return tool.glob;
    case "regex":
      return `/${tool.source}/`;
  }
}

export function printPath(path: readonly PathSegment[]): string {
  let text = "";
  for (const segment of path) {
    if (segment.type === "index") text += `[${segment.index}]`;
    else if (segment.type === "any-index") text += "[*]";
    else text += `${text === "" ? "" : "."}${segment.type === "key" ? segment.key : "*"}`;
  }
  return text;
}

const quote = (value: string): string => `"${value.replace(/["\\]/g, "\\$&")}"`;

function printArgs(args: ArgsPart): string {
  if (args.type === "any") return "";
  if (args.type === "primary") return `(${args.glob})`;
  return `(${args.conditions.map(({ path, op, value }) => `${printPath(path)} ${SYMBOLS[op]} ${quote(value)}`).join(", ")})`;
}

/** The canonical text: one spelling for all that mean the same. */
export const printToolCallPattern = ({ tool, args }: ToolCallPattern): string => printTool(tool) + printArgs(args);

/** Rules of one key are one rule: an exact id without conditions is the tool itself, however it was written. */
export const patternKey = (pattern: ToolCallPattern): string =>
  pattern.tool.type === "exact" && pattern.args.type === "any" ? `tool:${pattern.tool.id}` : `pattern:${printToolCallPattern(pattern)}`;

const KIND = { exact: 3, glob: 2, regex: 1 } as const;

const precision = (op: Operator): number => (op.endsWith("exact") ? 3 : op.endsWith("glob") ? 2 : 1);

/** Kind of the tool part, whether there are conditions, how many, and how precise they are. */
function specificity({ tool, args }: ToolCallPattern): readonly [number, number, number, number] {
  const ops: readonly Operator[] = args.type === "any" ? [] : args.type === "primary" ? ["glob"] : args.conditions.map(({ op }) => op);
  return [KIND[tool.type], args.type === "any" ? 0 : 1, ops.length, ops.reduce((sum, op) => sum + precision(op), 0)];
}

/** Positive when `a` is the more specific one. */
export function compareSpecificity(a: ToolCallPattern, b: ToolCallPattern): number {
  const other = specificity(b);
  return specificity(a).reduce((found, value, index) => (found !== 0 ? found : value - (other[index] ?? 0)), 0);
}
