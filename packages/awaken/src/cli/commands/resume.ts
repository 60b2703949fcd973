import { CliError } from "../cli-error.ts";
import { findOpenRun } from "../find-record.ts";
import { type FollowOptions, followRun } from "../follow-run.ts";
import { loadProject } from "../load-project.ts";
import type { Shell } from "../shell.ts";

/** Goes on with a run that was cut off, and shows it. */
export async function resume(shell: Shell, id: string, options: FollowOptions): Promise<number> {
  await using project = await loadProject({ ...options, cwd: shell.cwd, env: shell.env }, { mustExist: true });
  const run = await findOpenRun(project.store, id);
  if (run.status === "done") throw new CliError("invalid_resume", `run '${run.runId}' is done`, "only a run that was cut off can go on");
  if (run.status === "waiting" && run.waiting.tickets.length > 0) {
    throw new CliError("invalid_resume", `run '${run.runId}' waits for a decision`, `\`awaken show ${run.runId}\` shows its tickets`);
  }
  const output = project.outputs.get(run.agentId);
  const request = { thread: run.threadId, resume: run.runId, ...(output === undefined ? {} : { output }) };
  return await followRun(shell, project, request, options);
}
