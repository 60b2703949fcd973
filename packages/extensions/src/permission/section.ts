import * as s from "@awaken/contract/schema";

export const BEHAVIORS = ["allow", "ask", "deny"] as const;

/** What becomes of a call: it runs, it waits for a person, or the model reads that it may not. */
export type Behavior = (typeof BEHAVIORS)[number];

const SCOPES = ["once", "session", "thread", "project", "user"] as const;

const ruleSchema = s.strictObject({
  /** A tool-call pattern: `Bash`, `Bash(npm *)`, `mcp__github__*`, `Edit(file_path ~ "src/*")`. */
  tool: s.string(),
  /** What becomes of the calls that it matches. */
  behavior: s.enum(BEHAVIORS),
  /** Read and kept for files that have it; it decides nothing. */
  scope: s.exactOptional(s.enum(SCOPES)),
});

/** An agent's section `permission`. */
export const permissionSectionSchema = s.strictObject({
  /** What becomes of a call that no rule matches. Default `ask`. */
  defaultBehavior: s.withDefault(s.enum(BEHAVIORS), "ask"),
  /** In any order: a deny that matches wins, then an allow, then an ask. */
  rules: s.withDefault(s.array(ruleSchema), []),
});

/** What an agent's section says, with its defaults. */
export type PermissionSection = s.output<typeof permissionSectionSchema>;

/** What may be written into an agent's section. */
export type PermissionSectionInput = s.input<typeof permissionSectionSchema>;
