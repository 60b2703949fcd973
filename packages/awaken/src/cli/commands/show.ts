import {
  type Message,
  type MessageRecord,
  messageText,
  messageToolCalls,
  type RunRecord,
  type ScopedStore,
  type ThreadId,
} from "@awaken/contract";
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

function printMessage(out: Output, { message, seq, createdAt }: MessageRecord): void {
  out.line(`#${seq} ${timeText(createdAt)} ${speakerOf(message)}`, "dim");
  const text = messageText(message);
  if (text.trim() !== "") out.line(message.role === "tool" ? brief(text, MAX_DETAIL) : text);
  for (const { name, input } of messageToolCalls(message)) out.line(`→ ${name} ${brief(JSON.stringify(input), MAX_DETAIL)}`);
}

function runFields(run: RunRecord): readonly (readonly [string, string])[] {
  const { usage } = run;
  return [
    ["run", run.runId],
    ["thread", run.threadId],
    ["agent", run.agentId],
    ["status", run.status],
    ["created", timeText(run.createdAt)],
    ["updated", timeText(run.updatedAt)],
    ["steps", String(run.steps)],
    ["tokens", `${usage.totalTokens} (${usage.inputTokens} in, ${usage.outputTokens} out)`],
    ...(run.status === "done" ? [["ended", JSON.stringify(run.outcome.termination)] as const] : []),
    ...(run.status === "waiting" ? [["waits", run.waiting.reason] as const] : []),
  ];
}

function printOpen(out: Output, run: RunRecord | undefined, options: ProjectOptions): void {
  if (run?.status === "waiting") printTickets(out, run.waiting.tickets, options);
  if (run?.status === "running")
    out.note(`run ${run.runId} is running here or elsewhere; when it was cut off: awaken resume ${run.runId}`, "yellow");
}

async function showRun(out: Output, store: ScopedStore, run: RunRecord, options: ListOptions, limit: number): Promise<void> {
  const messages = await listMessages(store, run.threadId, run, limit);
  if (options.json === true) return out.json({ type: "run", run, messages });
  out.fields(runFields(run));
  for (const message of messages) printMessage(out, message);
  printOpen(out, run, options);
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
  const messages = await listMessages(store, thread.id, undefined, limit);
  const openRun = thread.openRunId === undefined ? undefined : await store.runs.load(thread.openRunId);
  if (options.json === true) {
    out.json({ type: "thread", thread, messages, ...(openRun === undefined ? {} : { openRun }) });
    return EXIT.ok;
  }
  const total = await store.messages.count(thread.id, { visibility: "external" });
  out.fields([
    ["thread", thread.id],
    ["title", thread.metadata.title ?? "-"],
    ["updated", timeText(thread.metadata.updatedAt)],
    ["open run", openRun === undefined ? "-" : `${openRun.runId} (${openRun.status})`],
    ["messages", total > messages.length ? `${total}, the last ${messages.length} below` : String(total)],
  ]);
  for (const message of messages) printMessage(out, message);
  printOpen(out, openRun, options);
  return EXIT.ok;
}
