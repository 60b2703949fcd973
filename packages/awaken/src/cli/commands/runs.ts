import {
  concludeRecord,
  isSettled,
  nearestName,
  RUN_STANDINGS,
  type RunRecord,
  type RunStanding,
  type RunStatus,
  standingOf,
  threadId,
} from "@awaken/contract";
import type { RunFilter, RunPosition, RunStore } from "@awaken/contract/store";
import { usageError } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import { openRecords } from "../load-project.ts";
import { Output, timeText } from "../output.ts";
import { brief } from "../printable.ts";
import { readLimit } from "../read-option.ts";
import type { Shell } from "../shell.ts";
import { shortThread } from "../short-id.ts";
import type { ListOptions } from "./threads.ts";

export interface RunsOptions extends ListOptions {
  readonly status?: string;
  readonly thread?: string;
}

const PAGE = 200;
const MAX_DETAIL = 60;

export function readStandings(text: string | undefined): readonly RunStanding[] | undefined {
  return text?.split(",").map((given) => {
    const standing = RUN_STANDINGS.find((known) => known === given.trim());
    if (standing !== undefined) return standing;
    const meant = nearestName(given, RUN_STANDINGS);
    throw usageError(
      `--status '${given}' is none of ${RUN_STANDINGS.join(", ")}`,
      meant === undefined ? undefined : `did you mean '${meant}'?`,
    );
  });
}

/** For a record every ending is `done`. */
export const recordedAs = (standing: RunStanding): RunStatus =>
  standing === "created" || standing === "running" || standing === "waiting" ? standing : "done";

interface Listed {
  readonly last: readonly RunRecord[];
  readonly total: number;
}

/** The last ones. A store lists runs from the oldest, so all that fit are passed by. */
async function listLast(runs: RunStore, filter: RunFilter, standings: readonly RunStanding[], limit: number): Promise<Listed> {
  let last: readonly RunRecord[] = [];
  let total = 0;
  let after: RunPosition | undefined;
  do {
    const page = await runs.list({ ...filter, limit: PAGE, ...(after === undefined ? {} : { after }) });
    const fitting = page.items.filter((run) => standings.includes(standingOf(run)));
    last = [...last, ...fitting].slice(-limit);
    total += fitting.length;
    after = page.next;
  } while (after !== undefined);
  return { last, total };
}

/** What is worth knowing of a run in a few words. */
export function runDetail(run: RunRecord): string {
  if (run.status === "waiting") return run.waiting.tickets.map(({ id, toolName }) => `${toolName}: ${id}`).join(", ") || run.waiting.reason;
  if (!isSettled(run)) return "";
  const conclusion = concludeRecord(run);
  switch (conclusion.status) {
    case "failed":
      return `${conclusion.error.code}: ${conclusion.error.message}`;
    case "stopped":
      return `${conclusion.limit}: ${conclusion.detail}`;
    case "blocked":
      return conclusion.reason;
    default:
      return run.outcome.response;
  }
}

/** Runs, the newest last. */
export async function runs(shell: Shell, options: RunsOptions): Promise<number> {
  const limit = readLimit(options.limit, 50);
  const standings = readStandings(options.status);
  await using records = await openRecords({ ...options, cwd: shell.cwd, env: shell.env });
  const filter: RunFilter = {
    ...(standings === undefined ? {} : { statuses: [...new Set(standings.map(recordedAs))] }),
    ...(options.thread === undefined ? {} : { threadId: threadId(await shortThread(records.store, options.thread)) }),
  };
  const { last: found, total } = await listLast(records.store.runs, filter, standings ?? RUN_STANDINGS, limit);
  const out = new Output(shell);
  if (options.json === true) {
    for (const run of found) out.json(run);
    return EXIT.ok;
  }
  if (found.length === 0) {
    out.note(`there are no such runs in ${records.label}`);
    return EXIT.ok;
  }
  out.table(
    ["RUN", "THREAD", "AGENT", "STATUS", "CREATED (UTC)", "STEPS", "DETAIL"],
    found.map((run) => [
      run.runId,
      run.threadId,
      run.agentId,
      standingOf(run),
      timeText(run.createdAt),
      String(run.steps),
      brief(runDetail(run), MAX_DETAIL),
    ]),
  );
  if (total > found.length) out.note(`the last ${found.length} of ${total}: --limit shows more`);
  return EXIT.ok;
}
