/** What a tool does to the world, for policies that treat kinds alike. A tool says it itself; foreign tools are guessed by name. */
export type ToolKind = (typeof TOOL_KINDS)[number];
export const TOOL_KINDS = ["execute", "read", "edit", "search", "other"] as const;

const WORDS: readonly (readonly [ToolKind, readonly string[]])[] = [
  ["edit", ["edit", "write", "patch", "replace", "create", "delete", "remove", "move", "rename"]],
  ["search", ["search", "grep", "find", "rg"]],
  ["read", ["read", "cat", "view", "open", "list", "ls", "glob", "fetch", "http", "curl"]],
  ["execute", ["bash", "shell", "exec", "run", "command", "terminal"]],
];

export function guessToolKind(name: string): ToolKind {
  const lower = name.toLowerCase();
  return WORDS.find(([, words]) => words.some((word) => lower.includes(word)))?.[0] ?? "other";
}
