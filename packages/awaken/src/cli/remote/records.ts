import type { Client } from "@awaken/client";
import { AwakenError, messageText, messageToolCalls, RUN_STANDINGS, type RunStanding } from "@awaken/contract";
import type { AnswerOf, Routes } from "@awaken/contract/http";
import { type RunsOptions, readStandings, recordedAs } from "../commands/runs.ts";
import type { ListOptions } from "../commands/threads.ts";
import { EXIT } from "../exit-codes.ts";
import { Output, timeText } from "../output.ts";
import { brief } from "../printable.ts";
import { readLimit } from "../read-option.ts";
import type { Shell } from "../shell.ts";
import { printTickets } from "../ticket-lines.ts";
import { openClient } from "./open-client.ts";

// The commands that look, on a server: what it tells of its records.

export type RunView = AnswerOf<Routes["loadRun"]>;
type MessageRow = AnswerOf<Routes["listMessages"]>["items"][number];

const PAGE = 200;
const MAX_DETAIL = 60;
const MAX_TEXT = 200;

interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string | undefined;
}

export async function* pagesOf<T>(load: (cursor: string | undefined) => Promise<Page<T>>): AsyncGenerator<readonly T[], void, undefined> {
  let cursor: string | undefined;
  do {
    const page: Page<T> = await load(cursor);
    yield page.items;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

export const place = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor });

/** A record says `done` of every end; how it ended says more. */
export function standingOf(run: RunView): RunStanding {
  if (run.status !== "done") return run.status;
  switch (run.termination.type) {
    case "error":
      return "failed";
    case "stopped":
    case "cancelled":
    case "blocked":
      return run.termination.type;
    default:
      return "done";
  }
}

export async function threads(shell: Shell, options: ListOptions): Promise<number> {
  const limit = readLimit(options.limit, 50);
  const client = openClient(options, shell);
  const { items, total } = await client.threads.summaries({ limit: Math.min(limit, PAGE) });
  const out = new Output(shell);
  if (options.json === true) for (const thread of items) out.json(thread);
  else if (items.length === 0) out.note(`there are no threads on ${options.server}`);
  else {
    const rows = items.map(({ id, updatedAt, agentId, title }) => [
      id,
      timeText(updatedAt),
      agentId ?? "-",
      brief(title ?? "", MAX_DETAIL),
    ]);
    out.table(["THREAD", "UPDATED (UTC)", "AGENT", "TITLE"], rows);
    if (total !== undefined && total > items.length) out.note(`${items.length} of ${total}: --limit shows more`);
  }
  return EXIT.ok;
}

/** The last ones that fit; a server lists runs from the oldest. */
async function lastRuns(client: Client, { thread, status }: RunsOptions, limit: number): Promise<readonly RunView[]> {
  const standings = readStandings(status) ?? RUN_STANDINGS;
  const [only, ...others] = new Set(standings.map(recordedAs));
  const filter = { limit: PAGE, ...(only === undefined || others.length > 0 ? {} : { status: only }) };
  const load = (cursor: string | undefined) => {
    const query = { ...filter, ...place(cursor) };
    return thread === undefined ? client.runs.list(query) : client.threads.runs(thread, query);
  };
  let last: readonly RunView[] = [];
  for await (const items of pagesOf(load)) last = [...last, ...items.filter((run) => standings.includes(standingOf(run)))].slice(-limit);
  return last;
}

const detailOf = (run: RunView): string => {
  if (run.status === "done") return run.response === "" ? JSON.stringify(run.termination) : run.response;
  return "tickets" in run ? run.tickets.map(({ id, toolName }) => `${toolName}: ${id}`).join(", ") : "";
};

export async function runs(shell: Shell, options: RunsOptions): Promise<number> {
  const found = await lastRuns(openClient(options, shell), options, readLimit(options.limit, 50));
  const out = new Output(shell);
  if (options.json === true) for (const run of found) out.json(run);
  else if (found.length === 0) out.note(`there are no such runs on ${options.server}`);
  else {
    out.table(
      ["RUN", "THREAD", "AGENT", "STATUS", "CREATED (UTC)", "STEPS", "DETAIL"],
      found.map((run) => [
        ...[run.runId, run.threadId, run.agentId, standingOf(run), timeText(run.createdAt), String(run.steps)],
        brief(detailOf(run), MAX_DETAIL),
      ]),
    );
  }
  return EXIT.ok;
}

function printMessage(out: Output, { seq, createdAt, message }: MessageRow): void {
  out.line(`#${seq} ${timeText(createdAt)} ${message.role === "tool" ? `${message.toolName} (${message.status})` : message.role}`, "dim");
  const text = messageText(message);
  if (text.trim() !== "") out.line(message.role === "tool" ? brief(text, MAX_TEXT) : text);
  for (const call of messageToolCalls(message)) out.line(`→ ${call.name} ${brief(JSON.stringify(call.input), MAX_TEXT)}`);
}

export const isMissing = (thrown: unknown): boolean => AwakenError.is(thrown) && thrown.code === "thread_not_found";

/** The thread of this id, else that of the run of this id. */
async function find(client: Client, id: string): Promise<{ readonly thread: string; readonly run: RunView | undefined }> {
  try {
    const { openRunId } = await client.threads.load(id);
    return { thread: id, run: openRunId === undefined ? undefined : await client.runs.load(openRunId) };
  } catch (thrown) {
    if (!isMissing(thrown)) throw thrown;
    const run = await client.runs.load(id);
    return { thread: run.threadId, run };
  }
}

export async function show(shell: Shell, id: string, options: ListOptions): Promise<number> {
  const client = openClient(options, shell);
  const { thread, run } = await find(client, id);
  const ofRun = thread === id || run === undefined ? {} : { runId: run.runId };
  const limit = Math.min(readLimit(options.limit, 50), PAGE);
  const { items } = await client.threads.messages(thread, { order: "descending", limit, ...ofRun });
  const messages = items.toReversed();
  const out = new Output(shell);
  if (options.json === true) {
    out.json({ thread, messages, ...(run === undefined ? {} : { run }) });
    return EXIT.ok;
  }
  out.fields([
    ["thread", thread],
    ...(run === undefined ? [] : [["run", run.runId] as const, ["agent", run.agentId] as const, ["status", standingOf(run)] as const]),
  ]);
  for (const message of messages) printMessage(out, message);
  if (run?.status === "waiting") printTickets(out, run.tickets, options);
  return EXIT.ok;
}
