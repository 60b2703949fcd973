import { openTicketsOf, type RunRecord, runId, ticketId } from "@awaken/contract";
import type { ScopedStore } from "@awaken/contract/store";
import { remember } from "@awaken/extensions/permission";
import type { DecisionInput } from "@awaken/runtime";
import { CliError, usageError } from "../cli-error.ts";
import { type FollowOptions, followRun } from "../follow-run.ts";
import { loadProject } from "../load-project.ts";
import { readJson } from "../read-option.ts";
import type { Shell } from "../shell.ts";
import { isPartOf, shortRun, shortTicket } from "../short-id.ts";

export interface DecideOptions extends FollowOptions {
  readonly approve?: boolean;
  readonly deny?: string;
  readonly answer?: string;
  readonly input?: string;
  readonly by?: string;
  readonly run?: string;
  readonly remember?: boolean | string;
}

const rememberAs = (rule: boolean | string) => remember(typeof rule === "string" ? { rule } : {});

export function readDecision({ approve, deny, answer, input, by, remember }: DecideOptions): DecisionInput {
  const said = [approve === true, deny !== undefined, answer !== undefined].filter((isSaid) => isSaid);
  if (said.length !== 1) throw usageError("say one of --approve, --deny <reason> and --answer <json>");
  if (input !== undefined && approve !== true) throw usageError("--input edits the input of an approval: it goes with --approve");
  if (remember !== undefined && answer !== undefined)
    throw usageError("--remember goes with --approve and --deny: an answer is for one call");
  const who = { ...(by === undefined ? {} : { by }), ...(remember === undefined ? {} : rememberAs(remember)) };
  if (deny !== undefined) return { action: "deny", reason: deny, ...who };
  if (answer !== undefined) return { action: "answer", result: readJson(answer, "--answer"), ...who };
  return { action: "approve", ...(input === undefined ? {} : { input: readJson(input, "--input") }), ...who };
}

const isOpen = (run: RunRecord, ticket: string): boolean => openTicketsOf(run).some((open) => open.id === ticket);

interface Found {
  readonly run: RunRecord;
  readonly ticket: string;
}

/** The id of a call will do where the run is named: calls of other runs may have it, too. */
async function ofRun(store: ScopedStore, call: string, named: string): Promise<Found | undefined> {
  const run = await store.runs.load(runId(await shortRun(store, named)));
  const open = run === undefined ? undefined : openTicketsOf(run).find(({ toolCallId }) => toolCallId === call);
  return run === undefined || open === undefined ? undefined : { run, ticket: open.id };
}

/** The run that waits with this ticket. */
async function findRun(store: ScopedStore, ticket: string, named: string | undefined): Promise<Found> {
  const all = await store.runs.listByTicket(ticketId(ticket));
  const runs = named === undefined ? all : all.filter((run) => [run.runId, run.threadId].some((id) => id === named || isPartOf(named, id)));
  const [run, ...others] = runs.filter((found) => isOpen(found, ticket));
  if (others.length > 0) throw new CliError("ambiguous_id", `the ticket '${ticket}' is open in ${others.length + 1} runs`);
  if (run !== undefined) return { run, ticket };
  const [decided] = runs;
  if (decided !== undefined) throw new CliError("ticket_not_open", `the ticket '${ticket}' of run '${decided.runId}' is not open any more`);
  const byCall = named === undefined ? undefined : await ofRun(store, ticket, named);
  if (byCall !== undefined) return byCall;
  throw new CliError("ticket_not_found", `no run waits with the ticket '${ticket}'`);
}

/** The call whose tool does not run, because the decision is its result. */
function answeredCall({ run, ticket }: Found, { action }: DecisionInput): string | undefined {
  const open = openTicketsOf(run).find(({ id }) => id === ticket);
  return action === "answer" && open?.resumeMode !== "pass-decision-to-tool" ? open?.toolCallId : undefined;
}

/** Decides, and shows the run until it ends or waits again. */
export async function decide(shell: Shell, given: string, options: DecideOptions): Promise<number> {
  const decision = readDecision(options);
  await using project = await loadProject({ ...options, cwd: shell.cwd, env: shell.env }, { mustExist: true });
  const found = await findRun(project.store, await shortTicket(project.store, given), options.run);
  const { run, ticket } = found;
  const { threadId, runId, agentId } = run;
  const output = project.outputs.get(agentId);
  const request = { thread: threadId, resume: runId, decisions: [{ ticket, decision }], ...(output === undefined ? {} : { output }) };
  const answered = answeredCall(found, decision);
  return await followRun(shell, project, request, { ...options, ...(answered === undefined ? {} : { answeredCall: answered }) });
}
