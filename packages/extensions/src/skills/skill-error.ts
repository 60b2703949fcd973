/** What the model reads by code when a skill cannot do what it is asked. */
export type SkillErrorCode =
  | "invalid_arguments"
  | "unknown_skill"
  | "model_invocation_disabled"
  | "invalid_skill_md"
  | "invalid_path"
  | "path_escapes_root"
  | "unsupported_path"
  | "io_error"
  | "unsupported_runtime"
  | "script_timeout"
  | "unsupported_operation";

export class SkillError extends Error {
  readonly code: SkillErrorCode;

  constructor(code: SkillErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
