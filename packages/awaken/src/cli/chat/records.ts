import { isJsonObject, type JsonObject, messageText, standingOf, threadId } from "@awaken/contract";
import type { MessageRecord, RunPosition, ScopedStore, ThreadRecord } from "@awaken/contract/store";
import { clean, cutAt } from "../sanitize.ts";
import type { ChatHost, LoggedEvent } from "./chat-host.ts";
import { cutText, jsonLine, prettyJson } from "./text-limits.ts";

const PREVIEW = { chars: 60, lines: 1 };
const EVENT_LINE = { chars: 160, lines: 1 };
export const MAX_THREADS = 20;
const PAGE = 200;

/** The newest rows of a log, oldest first. */
export async function lastMessages(
  store: ScopedStore,
  thread: string,
  limit: number,
): Promise<{ readonly items: readonly MessageRecord[]; readonly isWhole: boolean }> {
  const { items, next } = await store.messages.list(threadId(thread), { visibility: "all", order: "descending", limit });
  return { items: items.toReversed(), isWhole: next === undefined };
}

/** What the runs of a thread have used until now. */
export async function usedTokens({ runs }: ScopedStore, thread: string): Promise<number> {
  let tokens = 0;
  let after: RunPosition | undefined;
  do {
    const page = await runs.list({ threadId: threadId(thread), limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const { usage } of page.items) tokens += usage.totalTokens;
    after = page.next;
  } while (after !== undefined);
  return tokens;
}

/** Those that were used last, child threads of delegates aside. */
export async function threadIds(store: ScopedStore, limit: number): Promise<readonly string[]> {
  const { items } = await store.threads.list({ lineage: { type: "root" }, limit });
  return items.map(({ id }) => id);
}

export const firstLine = (text: string): string => cutAt(clean(text).trim().split("\n")[0] ?? "", PREVIEW.chars);

async function threadLine(store: ScopedStore, { id, metadata, latestRun }: ThreadRecord, current: string): Promise<string> {
  const [page, run] = await Promise.all([
    store.messages.list(id, { visibility: "external", limit: 1 }),
    latestRun === undefined ? undefined : store.runs.load(latestRun.id),
  ]);
  const [first] = page.items;
  const about = firstLine(metadata.title ?? (first === undefined ? "" : messageText(first.message)));
  return `${id === current ? "*" : " "} ${clean(id)}  ${new Date(metadata.updatedAt).toISOString()}  ${run === undefined ? "no run" : standingOf(run)}  ${about}`.trimEnd();
}

/** The threads that were used last, newest first. */
export async function threadsText(store: ScopedStore, current: string): Promise<string> {
  const { items, next } = await store.threads.list({ lineage: { type: "root" }, limit: MAX_THREADS });
  if (items.length === 0) return "no threads yet";
  const lines = await Promise.all(items.map((thread) => threadLine(store, thread, current)));
  return [...lines, ...(next === undefined ? [] : ["… and more"])].join("\n");
}

/** Thread and run as they are on record. */
export async function stateText(store: ScopedStore, thread: string, agent: string): Promise<string> {
  const head = await store.threads.loadHead(threadId(thread));
  if (head === undefined) return `thread ${thread} is new: nothing is on record yet\nagent ${agent}`;
  const run = head.openRun ?? head.latestRun;
  const lines = [`thread ${thread}: ${head.messageCount} messages on record, agent ${agent}`];
  if (run !== undefined) {
    lines.push(`run ${run.runId} of ${run.agentId}: ${standingOf(run)}, ${run.steps} steps, ${run.usage.totalTokens} tokens`);
    if (run.status === "done") lines.push(`ended: ${jsonLine({ ...run.outcome.termination })}`);
    if (run.status === "waiting") lines.push(...run.waiting.tickets.map((ticket) => `waits: ${ticket.id} ${ticket.toolName}`));
  }
  const state: JsonObject = head.state?.extensions ?? {};
  lines.push(Object.keys(state).length === 0 ? "thread state: empty" : `thread state: ${prettyJson(state, { chars: 2_000, lines: 60 })}`);
  return clean(lines.join("\n"));
}

/** The newest events. Logs are read forwards only, so that earlier pages are read and let go. */
async function lastEvents(host: Pick<ChatHost, "events">, thread: string, count: number): Promise<readonly LoggedEvent[]> {
  let kept: readonly LoggedEvent[] = [];
  let after: string | undefined;
  do {
    const page = await host.events(thread, after);
    kept = [...kept, ...page.items].slice(-count);
    after = page.next;
  } while (after !== undefined);
  return kept;
}

export async function eventsText(host: Pick<ChatHost, "events">, thread: string, count: number): Promise<string> {
  const events = await lastEvents(host, thread, count);
  if (events.length === 0) return "no events yet";
  return events
    .map(({ createdAt, kind, payload }) => {
      const { threadId: _thread, runId: _run, ...rest } = payload;
      const facts = isJsonObject(rest) ? cutText(jsonLine(rest), EVENT_LINE).replaceAll("\n", " ") : "";
      return `${new Date(createdAt).toISOString().slice(11, 23)} ${clean(kind)} ${facts}`;
    })
    .join("\n");
}
