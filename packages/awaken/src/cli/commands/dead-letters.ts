import type { DispatchPosition } from "@awaken/contract/store";
import type { DeadLetter } from "@awaken/runtime";
import type { Runtime } from "../../create-runtime.ts";
import { usageError } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import { openRecords } from "../load-project.ts";
import { Output, timeText } from "../output.ts";
import { withQueue } from "../queue-store.ts";
import { readLimit } from "../read-option.ts";
import type { Shell } from "../shell.ts";
import { shortDeadLetter } from "../short-id.ts";
import type { ListOptions } from "./threads.ts";

export interface DeadLetterOptions extends ListOptions {
  readonly replay?: string;
  readonly drop?: string;
}

const PAGE = 200;

async function list({ deadLetters }: Runtime, limit: number) {
  const found: DeadLetter[] = [];
  let after: DispatchPosition | undefined;
  do {
    const page = await deadLetters.list({ limit: Math.min(PAGE, limit - found.length), ...(after === undefined ? {} : { after }) });
    found.push(...page.items);
    after = page.next;
  } while (after !== undefined && found.length < limit);
  return { found, hasMore: after !== undefined };
}

async function show(out: Output, runtime: Runtime, { limit, json }: DeadLetterOptions, label: string): Promise<void> {
  const { found, hasMore } = await list(runtime, readLimit(limit, 50));
  if (json === true) {
    for (const letter of found) out.json(letter);
    return;
  }
  if (found.length === 0) return out.note(`there are no dead letters in ${label}`);
  out.table(
    ["DEAD LETTER", "RUN", "THREAD", "FAILED", "DIED (UTC)", "WHY"],
    found.map(({ id, runId, threadId, attempts, diedAt, error }) => [id, runId, threadId, String(attempts), timeText(diedAt), error]),
  );
  if (hasMore) out.note(`the first ${found.length}: --limit shows more`);
}

/** Work that nobody could bring to an end: listed, put into the queue again, or given up. */
export async function deadLetters(shell: Shell, options: DeadLetterOptions): Promise<number> {
  const { replay, drop } = options;
  if (replay !== undefined && drop !== undefined) throw usageError("--replay and --drop exclude each other");
  const readsOnly = replay === undefined && drop === undefined;
  await using records = await openRecords({ ...options, cwd: shell.cwd, env: shell.env }, { mustExist: true, readsOnly });
  const store = withQueue(records.store, records.label);
  const { createRuntime } = await import("../../create-runtime.ts");
  await using runtime = createRuntime({ agents: {}, store, workers: false });
  const out = new Output(shell);
  if (replay !== undefined) {
    const { runId, threadId } = await runtime.deadLetters.replay(await shortDeadLetter(store, replay));
    if (options.json === true) out.json({ type: "replayed", runId, threadId });
    else out.line(`run ${runId} is queued on thread ${threadId}: a process that serves the queue takes it up`);
  } else if (drop !== undefined) {
    const letter = await runtime.deadLetters.drop(await shortDeadLetter(store, drop));
    if (options.json === true) out.json({ type: "dropped", ...letter });
    else out.line(`dead letter ${letter.id} is dropped`);
  } else await show(out, runtime, options, records.label);
  return EXIT.ok;
}
