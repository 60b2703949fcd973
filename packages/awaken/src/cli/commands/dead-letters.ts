import type { DispatchPosition } from "@awaken/contract/store";
import type { DeadLetter } from "@awaken/runtime";
import type { Runtime } from "../../create-runtime.ts";
import { usageError } from "../cli-error.ts";
import { printDeadLetters, replayedLine } from "../dead-letter-table.ts";
import { EXIT } from "../exit-codes.ts";
import { openRecords } from "../load-project.ts";
import { Output } from "../output.ts";
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
    else out.line(replayedLine(runId, threadId));
  } else if (drop !== undefined) {
    const letter = await runtime.deadLetters.drop(await shortDeadLetter(store, drop));
    if (options.json === true) out.json({ type: "dropped", ...letter });
    else out.line(`dead letter ${letter.id} is dropped`);
  } else {
    const listed = await list(runtime, readLimit(options.limit, 50));
    printDeadLetters(out, { ...listed, label: records.label, isJson: options.json === true });
  }
  return EXIT.ok;
}
