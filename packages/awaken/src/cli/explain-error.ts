import { AwakenError, type ErrorCode, errorMessage } from "@awaken/contract";
import { CliError } from "./cli-error.ts";
import { EXIT } from "./exit-codes.ts";

/** What is printed of an error: one line, and one with what can be done about it. */
export interface Explained {
  readonly message: string;
  readonly fix: string | undefined;
  readonly exitCode: number;
}

const FIXES: Partial<Readonly<Record<ErrorCode, string>>> = {
  storage_too_new: "a newer awaken wrote this database: `npm install awaken@latest`, or name another one with --store",
  storage_corrupt: "check that --store names a database of awaken; a damaged one has to come back from a backup",
  agent_not_found: "the config has no agent of that name any more; `awaken doctor` lists those that it has",
  run_not_found: "`awaken runs` lists them",
  thread_not_found: "`awaken threads` lists them",
  ticket_not_found: "`awaken runs --status waiting` lists the runs that wait, `awaken show <run>` their tickets",
  ticket_not_open: "it was decided already: `awaken show <run>` tells what came of it",
  ambiguous_id: "name the run as well, with --run",
  thread_already_running: "wait until the run of this thread is over, or cancel it: `awaken cancel <thread>`",
  cursor_expired: "--after takes a cursor that `awaken events` gave for the same thread or run",
};

const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, " ").trim();

/** A mistake of ours, and not of the user, is the only one that is worth a stack. */
export function explainError(thrown: unknown): Explained {
  const message = oneLine(errorMessage(thrown)) || "something failed without saying what";
  if (!AwakenError.is(thrown)) return { message, fix: "--debug shows where", exitCode: EXIT.failed };
  const own = thrown instanceof CliError ? thrown.fix : undefined;
  return { message, fix: own ?? FIXES[thrown.code], exitCode: thrown.code === "cancelled" ? EXIT.interrupted : EXIT.usage };
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
