import type { Client } from "@awaken/client";
import type { AnswerOf, Routes } from "@awaken/contract/http";
import { COMMAND, quoted, sameProject } from "../command-name.ts";
import { type EventsOptions, eventLine } from "../commands/events.ts";
import { EXIT } from "../exit-codes.ts";
import { catchInterrupts } from "../interrupts.ts";
import { Output } from "../output.ts";
import { readLimit } from "../read-option.ts";
import type { Shell } from "../shell.ts";
import { openClient } from "./open-client.ts";
import { isMissing, place } from "./records.ts";

type EventPage = AnswerOf<Routes["listThreadEvents"]>;
type EventRow = EventPage["items"][number];

const PAGE = 200;

/** The log of a thread or of a run, page by page. */
type Log = (query: { readonly limit: number; readonly cursor?: string }) => Promise<EventPage>;

async function logOf(client: Client, id: string): Promise<Log> {
  try {
    await client.threads.load(id);
    return (query) => client.threads.events(id, query);
  } catch (thrown) {
    if (!isMissing(thrown)) throw thrown;
    await client.runs.load(id);
    return (query) => client.runs.events(id, query);
  }
}

interface Reading {
  /** The last one that was told. */
  cursor: string | undefined;
  readonly tell: (event: EventRow) => void;
}

/** What is on record behind the cursor, up to a limit. True when there is more. */
async function tellOn(log: Log, reading: Reading, limit: number): Promise<boolean> {
  for (let left = limit; left > 0; ) {
    const { items, hasMore } = await log({ limit: Math.min(PAGE, left), ...place(reading.cursor) });
    for (const event of items) reading.tell(event);
    reading.cursor = items.at(-1)?.cursor ?? reading.cursor;
    left -= items.length;
    if (!hasMore || items.length === 0) return false;
  }
  return true;
}

/** Whatever happens is on record when it is told with a cursor: then the log is read on. */
async function follow(client: Client, id: string, log: Log, reading: Reading): Promise<number> {
  const interrupts = catchInterrupts(() => {});
  try {
    await tellOn(log, reading, Number.POSITIVE_INFINITY);
    const place = reading.cursor === undefined ? {} : { after: reading.cursor };
    for await (const { cursor } of client.attach(id, { ...place, signal: interrupts.signal }))
      if (cursor !== undefined) await tellOn(log, reading, Number.POSITIVE_INFINITY);
    return interrupts.signal.aborted ? interrupts.exitCode : EXIT.ok;
  } finally {
    interrupts[Symbol.dispose]();
  }
}

/** What happened in a thread or a run, as the log of a server keeps it. */
export async function events(shell: Shell, id: string, options: EventsOptions): Promise<number> {
  const limit = readLimit(options.limit, 100);
  const client = openClient(options, shell);
  const log = await logOf(client, id);
  const out = new Output(shell);
  const isJson = options.json === true;
  let told = 0;
  const tell = (event: EventRow): void => {
    told += 1;
    if (isJson) out.json(event);
    else out.line(eventLine(event));
  };
  const reading: Reading = { cursor: options.after, tell };
  if (options.follow === true) return await follow(client, id, log, reading);
  const hasMore = await tellOn(log, reading, limit);
  if (isJson) return EXIT.ok;
  if (told === 0) out.note(`there are no ${options.after === undefined ? "" : "more "}events`);
  if (hasMore && reading.cursor !== undefined)
    out.note(`more: ${COMMAND} events ${quoted(id)} --after ${quoted(reading.cursor)}${sameProject(options)}`);
  return EXIT.ok;
}
