import { RUN_STATUSES, type RunFilter, type RunPosition, type RunRecord, type RunStatus, type RunStore, threadId } from "@awaken/contract";
import { usageError } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import { openRecords } from "../load-project.ts";
import { nearest } from "../nearest.ts";
import { Output, timeText } from "../output.ts";
import { brief } from "../printable.ts";
import { readLimit } from "../read-option.ts";
import type { Shell } from "../shell.ts";
import type { ListOptions } from "./threads.ts";

export interface RunsOptions extends ListOptions {
  readonly status?: string;
  readonly thread?: string;
}

const PAGE = 200;
const MAX_DETAIL = 60;

function readStatuses(text: string | undefined): readonly RunStatus[] | undefined {
  return text?.split(",").map((given) => {
    const status = RUN_STATUSES.find((known) => known === given.trim());
    if (status !== undefined) return status;
    const meant = nearest(given, RUN_STATUSES);
    throw usageError(
      `--status '${given}' is none of ${RUN_STATUSES.join(", ")}`,
      meant === undefined ? undefined : `did you mean '${meant}'?`,
    );
  });
}

/** The last ones. A store lists runs from the oldest, so all that fit are passed by. */
async function listLast(runs: RunStore, filter: RunFilter, limit: number): Promise<readonly RunRecord[]> {
  let last: readonly RunRecord[] = [];
  let after: RunPosition | undefined;
  do {
    const page = await runs.list({ ...filter, limit: PAGE, ...(after === undefined ? {} : { after }) });
    last = [...last, ...page.items].slice(-limit);
    after = page.next;
  } while (after !== undefined);
  return last;
}

/** What is worth knowing of a run in a few words. */
export function runDetail(run: RunRecord): string {
  if (run.status === "waiting") return run.waiting.tickets.map(({ id, toolName }) => `${toolName}: ${id}`).join(", ") || run.waiting.reason;
  if (run.status !== "done") return "";
  const { termination, response } = run.outcome;
  if (termination.type === "error") return `error: ${termination.message}`;
  return termination.type === "natural-end" ? response : termination.type;
}

/** Runs, the newest last. */
export async function runs(shell: Shell, options: RunsOptions): Promise<number> {
  const limit = readLimit(options.limit, 50);
  const statuses = readStatuses(options.status);
  const filter: RunFilter = {
    ...(statuses === undefined ? {} : { statuses }),
    ...(options.thread === undefined ? {} : { threadId: threadId(options.thread) }),
  };
  await using records = await openRecords({ ...options, cwd: shell.cwd, env: shell.env });
  const found = await listLast(records.store.runs, filter, limit);
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
      run.status,
      timeText(run.createdAt),
      String(run.steps),
      brief(runDetail(run), MAX_DETAIL),
    ]),
  );
  const total = await records.store.runs.count(filter);
  if (total > found.length) out.note(`the last ${found.length} of ${total}: --limit shows more`);
  return EXIT.ok;
}
