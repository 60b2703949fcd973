import { text } from "node:stream/consumers";
import { nearestName, type RunRecord, type Ticket, threadId } from "@awaken/contract";
import { CliError, usageError } from "../cli-error.ts";
import { type FollowOptions, followRun } from "../follow-run.ts";
import { loadProject } from "../load-project.ts";
import { Output } from "../output.ts";
import type { Shell } from "../shell.ts";
import { threadToUse } from "../short-id.ts";

export interface RunOptions extends FollowOptions {
  readonly agent?: string;
  readonly thread?: string;
}

export async function readInput(given: string | undefined, { stdin }: Shell): Promise<string> {
  if (given === undefined && stdin.isTTY)
    throw usageError("there is no input", 'awaken run "<input>", or a pipe: echo "<input>" | awaken run');
  const input = given === undefined || given === "-" ? await text(stdin) : given;
  if (input.trim() === "") throw usageError("the input is empty", 'awaken run "<input>"');
  return given === undefined || given === "-" ? input.trimEnd() : input;
}

function unknownAgent(id: string, known: readonly string[]): CliError {
  const meant = nearestName(id, known);
  const list = `agents are ${known.join(", ")}`;
  return new CliError("agent_not_found", `there is no agent '${id}' here`, meant === undefined ? list : `did you mean '${meant}'? ${list}`);
}

/** The agent of a run; none for a thread that knows its own. */
function chooseAgent(agents: readonly string[], asked: string | undefined, latest: RunRecord | undefined): string | undefined {
  if (asked !== undefined) {
    if (!agents.includes(asked)) throw unknownAgent(asked, agents);
    return asked;
  }
  if (latest !== undefined) return undefined;
  const [only, ...others] = agents;
  if (only !== undefined && others.length === 0) return only;
  if (agents.includes("default")) return "default";
  throw usageError("say which agent shall run", `--agent, one of ${agents.join(", ")}`);
}

/** Another run would answer the same thread beside it, and both would write. */
function stillRunning({ runId, threadId: thread, status }: RunRecord): CliError {
  return new CliError(
    "thread_already_running",
    `thread '${thread}' has a run that is ${status}: ${runId}; another process executes it, or it was cut off`,
    `wait for it; when it was cut off: \`awaken resume ${runId}\` goes on with it, \`awaken cancel ${runId} --cut-off\` ends it`,
  );
}

/** A new message gives up the calls that wait. */
function noteWithdrawn(shell: Shell, tickets: readonly Ticket[]): void {
  if (tickets.length === 0) return;
  const names = tickets.map(({ id, toolName }) => `${toolName} (${id})`).join(", ");
  new Output(shell).note(`this message withdraws what waited for a decision: ${names}`, "yellow");
}

export async function run(shell: Shell, given: string | undefined, options: RunOptions): Promise<number> {
  if (options.thread?.trim() === "") throw usageError("--thread must not be blank");
  const input = await readInput(given, shell);
  await using project = await loadProject({ ...options, cwd: shell.cwd, env: shell.env });
  const thread = options.thread === undefined ? undefined : await threadToUse(project.store, options.thread);
  const latest = thread === undefined ? undefined : await project.store.runs.loadLatest(threadId(thread));
  if (latest?.status === "running" || latest?.status === "created") throw stillRunning(latest);
  const agent = chooseAgent(project.agents, options.agent, latest);
  const output = project.outputs.get(agent ?? latest?.agentId ?? "");
  if (latest?.status === "waiting") noteWithdrawn(shell, latest.waiting.tickets);
  return await followRun(
    shell,
    project,
    {
      input,
      ...(agent === undefined ? {} : { agent }),
      ...(thread === undefined ? {} : { thread }),
      ...(output === undefined ? {} : { output }),
    },
    options,
  );
}
