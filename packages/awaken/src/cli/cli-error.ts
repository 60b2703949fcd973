import { AwakenError, type AwakenErrorInit, type ErrorCode } from "@awaken/contract";

/** An error that knows what the user can do about it. */
export class CliError extends AwakenError {
  readonly fix: string | undefined;

  constructor(code: ErrorCode, message: string, fix?: string, init: AwakenErrorInit = {}) {
    super(code, message, init);
    this.fix = fix;
  }
}

/** The command line itself is wrong. */
export const usageError = (message: string, fix?: string): CliError => new CliError("invalid_activation", message, fix);
