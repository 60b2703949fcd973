/** What a tool does to the world, for policies that treat kinds alike. A tool says it itself; foreign tools are guessed by name. */
export type ToolKind = (typeof TOOL_KINDS)[number];
export const TOOL_KINDS = ["execute", "read", "edit", "search", "other"] as const;

const WORDS: readonly (readonly [ToolKind, RegExp])[] = [
  ["edit", /edit|write|patch|replace|create|delete|remove|move|rename/i],
  ["search", /search|grep|find|rg/i],
  ["read", /read|cat|view|open|list|ls|glob|fetch|http|curl/i],
  ["execute", /bash|shell|exec|run|command|terminal/i],
];

export function guessToolKind(name: string): ToolKind {
  return WORDS.find(([, words]) => words.test(name))?.[0] ?? "other";
}
