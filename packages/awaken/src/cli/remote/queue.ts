import type { Client } from "@awaken/client";
import type { AnswerOf, Routes } from "@awaken/contract/http";
import { usageError } from "../cli-error.ts";
import type { DeadLetterOptions } from "../commands/dead-letters.ts";
import type { ListOptions } from "../commands/threads.ts";
import { printDeadLetters, replayedLine } from "../dead-letter-table.ts";
import { EXIT } from "../exit-codes.ts";
import { Output } from "../output.ts";
import { printQueue, type QueueEntry } from "../queue-table.ts";
import { readLimit } from "../read-option.ts";
import type { Shell } from "../shell.ts";
import { shortListedLetter } from "../short-id.ts";
import { openClient } from "./open-client.ts";
import { pagesOf, place } from "./records.ts";

// What whoever runs a server sees of its queue: the key is the admin's.

type DeadLetter = AnswerOf<Routes["listDeadLetters"]>["items"][number];

const PAGE = 200;

export async function queue(shell: Shell, options: ListOptions): Promise<number> {
  const limit = readLimit(options.limit, 50);
  const client = openClient(options, shell);
  const entries: QueueEntry[] = [];
  let work = 0;
  let page: AnswerOf<Routes["listQueue"]> | undefined;
  do {
    page = await client.admin.queue({ limit: Math.min(PAGE, limit - work), ...place(page?.nextCursor) });
    entries.push(...page.items);
    work = entries.filter(({ status }) => status !== "pending").length;
  } while (page.nextCursor !== undefined && work < limit);
  const out = new Output(shell);
  if (options.json === true) for (const entry of entries) out.json(entry);
  else printQueue(out, { entries, hasMore: page.hasMore, deadLetters: page.deadLetters, label: options.server ?? "" });
  return EXIT.ok;
}

async function list(client: Client, limit: number): Promise<{ readonly found: readonly DeadLetter[]; readonly hasMore: boolean }> {
  const found: DeadLetter[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.admin.deadLetters({ limit: Math.min(PAGE, limit - found.length), ...place(cursor) });
    found.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== undefined && found.length < limit);
  return { found, hasMore: cursor !== undefined };
}

async function* lettersOf({ admin }: Client): AsyncGenerator<DeadLetter, void, undefined> {
  for await (const items of pagesOf((cursor) => admin.deadLetters({ limit: PAGE, ...place(cursor) }))) yield* items;
}

export async function deadLetters(shell: Shell, options: DeadLetterOptions): Promise<number> {
  const { replay, drop } = options;
  if (replay !== undefined && drop !== undefined) throw usageError("--replay and --drop exclude each other");
  const client = openClient(options, shell);
  const out = new Output(shell);
  const isJson = options.json === true;
  if (replay !== undefined) {
    const { runId, threadId } = await client.admin.replay(await shortListedLetter(lettersOf(client), replay));
    if (isJson) out.json({ type: "replayed", runId, threadId });
    else out.line(replayedLine(runId, threadId));
  } else if (drop !== undefined) {
    const id = await shortListedLetter(lettersOf(client), drop);
    await client.admin.drop(id);
    if (isJson) out.json({ type: "dropped", id });
    else out.line(`dead letter ${id} is dropped`);
  } else printDeadLetters(out, { ...(await list(client, readLimit(options.limit, 50))), label: options.server ?? "", isJson });
  return EXIT.ok;
}
