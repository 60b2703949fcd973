import { CliError } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import { findOpenRun } from "../find-record.ts";
import { loadProject } from "../load-project.ts";
import { Output } from "../output.ts";
import type { Project } from "../project.ts";
import type { ProjectOptions, Shell } from "../shell.ts";

export interface CancelOptions extends ProjectOptions {
  readonly json?: boolean;
  readonly cutOff?: boolean;
}

/** Takes up a run whose process is gone, only to end it. */
async function endCutOff({ runtime }: Project, thread: string, runId: string): Promise<void> {
  await runtime.run({ thread, resume: runId, signal: AbortSignal.abort() });
}

/** Ends a run that waits. One that is executed elsewhere can only be stopped there. */
export async function cancel(shell: Shell, id: string, options: CancelOptions): Promise<number> {
  await using project = await loadProject({ ...options, cwd: shell.cwd, env: shell.env }, { mustExist: true });
  const { runId, threadId, status } = await findOpenRun(project.store, id);
  if (status === "done") throw new CliError("illegal_transition", `run '${runId}' is done already`);
  if (status === "waiting") await project.runtime.cancelAndWait(runId);
  else if (options.cutOff === true) await endCutOff(project, threadId, runId);
  else {
    throw new CliError(
      "illegal_transition",
      `run '${runId}' is ${status}: another process executes it, or it was cut off`,
      `stop it where it runs; when it was cut off: \`awaken cancel ${runId} --cut-off\` ends it, \`awaken resume ${runId}\` goes on with it`,
    );
  }
  const after = await project.store.runs.load(runId);
  const out = new Output(shell);
  if (options.json === true) out.json({ type: "cancelled", runId, threadId, status: after?.status ?? status });
  else out.line(after?.status === "done" ? `run ${runId} is cancelled` : `run ${runId} was told to stop and is still ${after?.status}`);
  return after?.status === "done" ? EXIT.ok : EXIT.failed;
}
