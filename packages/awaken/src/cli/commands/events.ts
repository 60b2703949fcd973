import { type EventCursor, type EventScope, eventCursor, type ScopedStore, type StoredEvent } from "@awaken/contract/store";
import { COMMAND, quoted, sameProject } from "../command-name.ts";
import { EXIT } from "../exit-codes.ts";
import { findRecord } from "../find-record.ts";
import { catchInterrupts } from "../interrupts.ts";
import { openRecords } from "../load-project.ts";
import { Output, timeText } from "../output.ts";
import { brief } from "../printable.ts";
import { readLimit } from "../read-option.ts";
import type { Shell } from "../shell.ts";
import type { ListOptions } from "./threads.ts";

export interface EventsOptions extends ListOptions {
  readonly after?: string;
  readonly follow?: boolean;
}

const PAGE = 200;
const MAX_DETAIL = 120;

async function scopeOf(store: ScopedStore, id: string): Promise<EventScope> {
  const found = await findRecord(store, id);
  return found.type === "thread" ? { type: "thread", threadId: found.thread.id } : { type: "run", runId: found.run.runId };
}

interface Listed {
  readonly events: readonly StoredEvent[];
  readonly next: EventCursor | undefined;
}

async function listEvents({ events: log }: ScopedStore, scope: EventScope, from: EventCursor | undefined, limit: number): Promise<Listed> {
  const events: StoredEvent[] = [];
  let after = from;
  for (;;) {
    const page = await log.list(scope, { limit: Math.min(PAGE, limit - events.length), ...(after === undefined ? {} : { after }) });
    events.push(...page.items);
    after = page.next;
    if (after === undefined || events.length >= limit) return { events, next: after };
  }
}

export function eventLine({ createdAt, kind, payload }: Pick<StoredEvent, "createdAt" | "kind" | "payload">): string {
  const { threadId: _thread, runId: _run, ...rest } = payload;
  return `${timeText(createdAt)}  ${kind.padEnd(20)}  ${brief(JSON.stringify(rest), MAX_DETAIL)}`;
}

const print = (out: Output, event: StoredEvent, isJson: boolean): void => (isJson ? out.json(event) : out.line(eventLine(event)));

/** Stored events and then live ones, until Ctrl-C. */
async function follow(out: Output, store: ScopedStore, scope: EventScope, from: EventCursor | undefined, isJson: boolean): Promise<number> {
  const interrupts = catchInterrupts(() => {});
  try {
    const start = from === undefined ? ({ type: "start" } as const) : ({ type: "after", cursor: from } as const);
    for await (const event of await store.events.subscribe(scope, start, { signal: interrupts.signal })) print(out, event, isJson);
    return interrupts.exitCode;
  } finally {
    interrupts[Symbol.dispose]();
  }
}

/** What happened in a thread or a run, as its log keeps it. */
export async function events(shell: Shell, id: string, options: EventsOptions): Promise<number> {
  const limit = readLimit(options.limit, 100);
  const from = options.after === undefined ? undefined : eventCursor(options.after);
  await using records = await openRecords({ ...options, cwd: shell.cwd, env: shell.env });
  const scope = await scopeOf(records.store, id);
  const out = new Output(shell);
  const isJson = options.json === true;
  if (options.follow === true) return await follow(out, records.store, scope, from, isJson);
  const listed = await listEvents(records.store, scope, from, limit);
  for (const event of listed.events) print(out, event, isJson);
  if (isJson) return EXIT.ok;
  if (listed.events.length === 0) out.note(`there are no ${from === undefined ? "" : "more "}events`);
  if (listed.next !== undefined) out.note(`more: ${COMMAND} events ${quoted(id)} --after ${quoted(listed.next)}${sameProject(options)}`);
  return EXIT.ok;
}
