import { AwakenError, type ErrorCode, errorMessage } from "@awaken/contract";
import { CliError } from "./cli-error.ts";
import { ERROR_FIXES } from "./error-fixes.ts";
import { EXIT } from "./exit-codes.ts";

/** What is printed of an error: one line, and one with what can be done about it. */
export interface Explained {
  readonly message: string;
  readonly fix: string | undefined;
  readonly exitCode: number;
}

function knownFix(code: ErrorCode, message: string): string | undefined {
  if (code === "storage_io") return storageFix(message);
  const fix = ERROR_FIXES[code];
  return typeof fix === "string" ? fix : undefined;
}

/** A store that cannot be reached: what to look at depends on which one it is. */
function storageFix(message: string): string | undefined {
  if (/the package 'pg'/.test(message)) return undefined;
  if (/PostgreSQL/.test(message))
    return "check that the server is up, and the address and login that --store, AWAKEN_STORE or the config give";
  if (!/SQLite/.test(message)) return undefined;
  if (/lock|busy/i.test(message)) return "another program writes to it: wait until it is done or end it, and try again";
  return "check that the file and its folder may be read and written, and that the disk has room; --store names another one";
}

const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, " ").trim();

/** A mistake of ours, and not of the user, is the only one that is worth a stack. */
export function explainError(thrown: unknown): Explained {
  const message = oneLine(errorMessage(thrown)) || "something failed without saying what";
  if (!AwakenError.is(thrown)) return { message, fix: "--debug shows where", exitCode: EXIT.failed };
  const own = thrown instanceof CliError ? thrown.fix : undefined;
  return { message, fix: own ?? knownFix(thrown.code, message), exitCode: thrown.code === "cancelled" ? EXIT.interrupted : EXIT.usage };
}

const UNAUTHORIZED = /^unauthorized: /;
const NO_MODEL = /^model not found: /;

/** Why a run failed, where its text needs more than itself. */
export function explainFailure(message: string): Pick<Explained, "message" | "fix"> {
  const text = oneLine(message);
  if (UNAUTHORIZED.test(text)) {
    const why = text.replace(UNAUTHORIZED, "");
    return {
      message: `the model's vendor refused the key: ${why}`,
      fix: "set the right key in the environment; `awaken doctor` names the variables",
    };
  }
  if (NO_MODEL.test(text)) return { message: text, fix: "name a model that your key may use in the config, or in AWAKEN_MODEL" };
  return { message: text, fix: undefined };
}
