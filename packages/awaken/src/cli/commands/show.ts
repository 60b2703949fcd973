import {
  type JsonValue,
  type Message,
  messageText,
  messageToolCalls,
  type RunRecord,
  runIdentity,
  standingOf,
  type ThreadId,
  type Ticket,
} from "@awaken/contract";
import type { MessageRecord, ScopedStore } from "@awaken/contract/store";
import { ticketsBelow } from "@awaken/runtime";
import { COMMAND, sameProject } from "../command-name.ts";
import { loadDecisions, printDecisions, type TakenDecision } from "../decisions.ts";
import { type EditedCall, editOf, loadEdited, runsOf } from "../executed-inputs.ts";
import { EXIT } from "../exit-codes.ts";
import { findRecord } from "../find-record.ts";
import { openRecords } from "../load-project.ts";
import { Output, timeText } from "../output.ts";
import { brief } from "../printable.ts";
import { readLimit } from "../read-option.ts";
import type { ProjectOptions, Shell } from "../shell.ts";
import { printTickets } from "../ticket-lines.ts";
import type { ListOptions } from "./threads.ts";

const PAGE = 200;
const MAX_DETAIL = 200;
const MAX_FAMILY = 1_000;

/** The last messages of a thread, or of one run of it, in their order. */
async function listMessages(
  store: ScopedStore,
  threadId: ThreadId,
  run: RunRecord | undefined,
  limit: number,
): Promise<readonly MessageRecord[]> {
  const found: MessageRecord[] = [];
  let beforeSeq: number | undefined;
  do {
    const page = await store.messages.list(threadId, {
      order: "descending",
      visibility: "external",
      limit: Math.min(PAGE, limit - found.length),
      ...(run === undefined ? {} : { runId: run.runId }),
      ...(beforeSeq === undefined ? {} : { beforeSeq }),
    });
    found.push(...page.items);
    beforeSeq = page.next;
  } while (beforeSeq !== undefined && found.length < limit);
  return found.reverse();
}

function speakerOf(message: Message): string {
  return message.role === "tool" ? `${message.toolName} (${message.status})` : message.role;
}

const json = (value: JsonValue): string => brief(JSON.stringify(value), MAX_DETAIL);

/** All that is shown of a thread or a run. */
interface Shown {
  readonly messages: readonly MessageRecord[];
  readonly edited: readonly EditedCall[];
  readonly decisions: readonly TakenDecision[];
}

/** What a run that is not over waits for: decisions, also those of runs below it, and its calls that do not have their results. */
interface Awaited {
  readonly tickets: readonly Ticket[];
  readonly calls: ReadonlySet<string>;
}

async function loadAwaited(store: ScopedStore, run: RunRecord | undefined): Promise<Awaited> {
  if (run === undefined || run.status === "done") return { tickets: [], calls: new Set() };
  const tickets = await ticketsBelow(store, runIdentity(run));
  const { items: children } = await store.runs.list({
    parentRunId: run.runId,
    statuses: ["created", "running", "waiting"],
    limit: MAX_FAMILY,
  });
  const own = tickets.flatMap((ticket) => (ticket.runId === run.runId ? ticket.toolCallId : []));
  return { tickets, calls: new Set([...own, ...children.flatMap(({ activation }) => activation.trace.parentToolCallId ?? [])]) };
}

async function loadShown(store: ScopedStore, thread: ThreadId, run: RunRecord | undefined, limit: number): Promise<Shown> {
  const messages = await listMessages(store, thread, run, limit);
  const [edited, decisions] = await Promise.all([loadEdited(store, messages), loadDecisions(store, runsOf(messages))]);
  return { messages, edited, decisions };
}

const WAITED = { decided: "it waited for a decision", withdrawn: "the call was given up without a decision: it did not run" } as const;

/** A row that says "awaiting decision" stays in the log: a result follows, or the run of the call is over and the call was given up. */
function waitedRow(
  { message, seq }: MessageRecord,
  { messages }: Shown,
  open: RunRecord | undefined,
  { calls }: Awaited,
): keyof typeof WAITED | undefined {
  if (message.role !== "tool" || message.status !== "pending") return undefined;
  const { toolCallId } = message;
  const isDecided = messages.some(({ message: later, seq: at }) => at > seq && later.role === "tool" && later.toolCallId === toolCallId);
  if (isDecided) return "decided";
  if (open === undefined || open.runId !== message.metadata?.runId) return "withdrawn";
  // One that runs may still come to it.
  const isOpen = open.status === "waiting" ? calls.has(toolCallId) : open.status !== "done";
  return isOpen ? undefined : "withdrawn";
}

function printMessage(out: Output, record: MessageRecord, shown: Shown, open: RunRecord | undefined, awaited: Awaited): void {
  const { message, seq, createdAt } = record;
  const waited = waitedRow(record, shown, open, awaited);
  out.line(`#${seq} ${timeText(createdAt)} ${speakerOf(message)}${waited === undefined ? "" : `, ${waited}`}`, "dim");
  const text = waited === undefined ? messageText(message) : WAITED[waited];
  if (text.trim() !== "") out.line(message.role === "tool" ? brief(text, MAX_DETAIL) : text);
  for (const call of messageToolCalls(message)) {
    const edit = editOf(shown.edited, message.id, call);
    out.line(
      edit === undefined
        ? `→ ${call.name} ${json(call.input)}`
        : `→ ${call.name} ${json(edit.input)} (edited, asked for ${json(edit.asked)})`,
    );
  }
}

function printShown(out: Output, shown: Shown, open: RunRecord | undefined, awaited: Awaited, options: ProjectOptions): void {
  for (const message of shown.messages) printMessage(out, message, shown, open, awaited);
  printDecisions(out, shown.decisions);
  printOpen(out, open, awaited, options);
}

function runFields(run: RunRecord): readonly (readonly [string, string])[] {
  const { usage } = run;
  return [
    ["run", run.runId],
    ["thread", run.threadId],
    ["agent", run.agentId],
    ["status", standingOf(run)],
    ["created", timeText(run.createdAt)],
    ["updated", timeText(run.updatedAt)],
    ["steps", String(run.steps)],
    ["tokens", `${usage.totalTokens} (${usage.inputTokens} in, ${usage.outputTokens} out)`],
    ...(run.status === "done" ? [["ended", JSON.stringify(run.outcome.termination)] as const] : []),
    ...(run.status === "waiting" ? [["waits", run.waiting.reason] as const] : []),
  ];
}

function printOpen(out: Output, run: RunRecord | undefined, { tickets }: Awaited, options: ProjectOptions): void {
  if (run?.status === "waiting") printTickets(out, tickets, options);
  if (run?.status === "running")
    out.note(
      `run ${run.runId} is running here or elsewhere; when it was cut off: ${COMMAND} resume ${run.runId}${sameProject(options)}`,
      "yellow",
    );
}

/** The runs that a run started, at any depth, under those that started them. */
function printFamily(out: Output, root: RunRecord, family: readonly RunRecord[]): void {
  if (family.length === 0) return;
  const total = [root, ...family].reduce((sum, { usage }) => sum + usage.totalTokens, 0);
  out.line(`${family.length} below it, ${total} tokens in all`, "dim");
  const below = (parent: string, depth: number): void => {
    for (const run of family.filter(({ parentRunId }) => parentRunId === parent)) {
      const { taskId } = run.activation.trace;
      const task = taskId === undefined ? "" : ` (${taskId})`;
      out.line(`${"  ".repeat(depth)}${run.agentId}${task} ${standingOf(run)}, ${run.usage.totalTokens} tokens, ${run.runId}`);
      below(run.runId, depth + 1);
    }
  };
  below(root.runId, 1);
}

async function showRun(out: Output, store: ScopedStore, run: RunRecord, options: ListOptions, limit: number): Promise<void> {
  const shown = await loadShown(store, run.threadId, run, limit);
  const { items: family } = await store.runs.list({ rootRunId: run.rootRunId ?? run.runId, limit: MAX_FAMILY });
  if (options.json === true) return out.json({ type: "run", run, ...shown, ...(family.length === 0 ? undefined : { family }) });
  out.fields(runFields(run));
  if (run.rootRunId === undefined) printFamily(out, run, family);
  printShown(out, shown, run, await loadAwaited(store, run), options);
}

/** A thread with its messages, or a run with those that it wrote. */
export async function show(shell: Shell, id: string, options: ListOptions): Promise<number> {
  const limit = readLimit(options.limit, 50);
  await using records = await openRecords({ ...options, cwd: shell.cwd, env: shell.env });
  const { store } = records;
  const out = new Output(shell);
  const found = await findRecord(store, id);
  if (found.type === "run") {
    await showRun(out, store, found.run, options, limit);
    return EXIT.ok;
  }
  const { thread } = found;
  const shown = await loadShown(store, thread.id, undefined, limit);
  const openRun = thread.openRunId === undefined ? undefined : await store.runs.load(thread.openRunId);
  if (options.json === true) {
    out.json({ type: "thread", thread, ...shown, ...(openRun === undefined ? {} : { openRun }) });
    return EXIT.ok;
  }
  const total = await store.messages.count(thread.id, { visibility: "external" });
  out.fields([
    ["thread", thread.id],
    ["title", thread.metadata.title ?? "-"],
    ["updated", timeText(thread.metadata.updatedAt)],
    ["open run", openRun === undefined ? "-" : `${openRun.runId} (${openRun.status})`],
    ["messages", total > shown.messages.length ? `${total}, the last ${shown.messages.length} below` : String(total)],
  ]);
  printShown(out, shown, openRun, await loadAwaited(store, openRun), options);
  return EXIT.ok;
}
