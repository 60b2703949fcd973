import { messageText } from "@awaken/contract";
import type { ScopedStore, ThreadPosition, ThreadRecord } from "@awaken/contract/store";
import { EXIT } from "../exit-codes.ts";
import { openRecords } from "../load-project.ts";
import { Output, timeText } from "../output.ts";
import { brief } from "../printable.ts";
import { readLimit } from "../read-option.ts";
import type { ProjectOptions, Shell } from "../shell.ts";

export interface ListOptions extends ProjectOptions {
  readonly json?: boolean;
  readonly limit?: string;
}

const PAGE = 200;
const MAX_TITLE = 60;

async function listThreads({ threads }: ScopedStore, limit: number): Promise<readonly ThreadRecord[]> {
  const found: ThreadRecord[] = [];
  let after: ThreadPosition | undefined;
  do {
    const page = await threads.list({ limit: Math.min(PAGE, limit - found.length), ...(after === undefined ? {} : { after }) });
    found.push(...page.items);
    after = page.next;
  } while (after !== undefined && found.length < limit);
  return found;
}

/** Its title, else what was said first. */
async function titleOf({ messages }: ScopedStore, { id, metadata }: ThreadRecord): Promise<string> {
  if (metadata.title !== undefined) return metadata.title;
  const [first] = (await messages.list(id, { visibility: "external", limit: 1 })).items;
  return first === undefined ? "" : messageText(first.message);
}

async function row(store: ScopedStore, thread: ThreadRecord): Promise<readonly string[]> {
  const { id, metadata, latestRun } = thread;
  const [run, title] = await Promise.all([latestRun === undefined ? undefined : store.runs.load(latestRun.id), titleOf(store, thread)]);
  return [id, timeText(metadata.updatedAt), run?.agentId ?? "-", run?.status ?? "-", brief(title, MAX_TITLE)];
}

/** Threads, the one that was used last first. */
export async function threads(shell: Shell, options: ListOptions): Promise<number> {
  const limit = readLimit(options.limit, 50);
  await using records = await openRecords({ ...options, cwd: shell.cwd, env: shell.env });
  const { store } = records;
  const found = await listThreads(store, limit);
  const out = new Output(shell);
  if (options.json === true) {
    for (const thread of found) out.json(thread);
    return EXIT.ok;
  }
  if (found.length === 0) out.note(`there are no threads in ${records.label}`);
  else {
    out.table(["THREAD", "UPDATED (UTC)", "AGENT", "LAST RUN", "TITLE"], await Promise.all(found.map((thread) => row(store, thread))));
    const total = await store.threads.count({});
    if (total > found.length) out.note(`${found.length} of ${total}: --limit shows more`);
  }
  return EXIT.ok;
}
