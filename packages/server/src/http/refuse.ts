import { AwakenError, ERROR_TABLE, type ErrorCode, errorMessage, type Log } from "@awaken/contract";

/** What a client is told of codes whose messages may name what is behind the server. */
const UNTOLD: Partial<Record<ErrorCode, string>> = {
  storage_io: "the store does not answer",
  commit_unknown: "the store did not say whether it kept what was asked of it",
};
const HIDDEN = "something went wrong in the server";

export interface Refusal {
  readonly status: number;
  readonly body: { readonly error: string; readonly code: ErrorCode };
}

/** 499 is for whoever went away: who is still there is told that the server is leaving. */
const codeOf = ({ code }: AwakenError): ErrorCode => (ERROR_TABLE[code].status === 499 ? "shutting_down" : code);

/** What a client is told: causes, stacks and what only operators should know stay here. */
export function refuse(thrown: unknown, log: Log, fields: { readonly route: string; readonly requestId: string }): Refusal {
  if (AwakenError.is(thrown)) {
    const code = codeOf(thrown);
    const { status } = ERROR_TABLE[code];
    const told = code === "shutting_down" ? "the server is leaving" : status < 500 || status === 504 ? thrown.message : UNTOLD[code];
    if (status >= 500 && code !== "shutting_down" && code !== "timeout" && code !== "server_busy" && code !== "not_installed")
      log.error(`${fields.route}: ${thrown.message}`, { ...fields, code });
    return { status, body: { error: told ?? (isOurs(code) ? thrown.message : HIDDEN), code } };
  }
  log.error(`${fields.route}: ${errorMessage(thrown)}`, fields);
  return { status: 500, body: { error: HIDDEN, code: "internal" } };
}

/** The server's own words. */
const isOurs = (code: ErrorCode): boolean => code === "server_busy" || code === "not_installed";
