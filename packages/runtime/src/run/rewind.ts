import {
  AwakenError,
  checkOptions,
  type Message,
  type MessageId,
  messageId,
  needed,
  type PartRules,
  RULES,
  type RunId,
  type RunRecord,
  runId,
  runIdentity,
  type SystemMessage,
  type ThreadId,
  threadId,
} from "@awaken/contract";
import { MAX_COMMIT_ATTEMPTS, type SequencedMessage, type ThreadHead } from "@awaken/contract/store";
import type { CommitPorts, CommitStore } from "../commit/commit-store.ts";
import { composeAddition } from "../commit/compose.ts";
import type { Holding } from "../commit/holding.ts";
import { Landing } from "../commit/land.ts";
import { type RewoundRows, rewindOver, rewoundRows } from "../commit/rewound-rows.ts";
import { rowsAfter } from "../commit/rows-after.ts";
import { seldom as commitSeldom } from "../commit/seldom-door.ts";
import type { RunRecords } from "../loop/run-records.ts";
import type { Clock } from "../stream/clock.ts";
import { endingsOf, endOf, type Left, readLeft, type Taking, withoutCalls } from "./rewound-runs.ts";
import type { RunParts } from "./run-parts.ts";

/** How far back. */
export interface RewindOptions {
  /** The first message that goes. Not the result of a call, which goes with the message that asks for it. */
  readonly toMessageId: string;
}

/** What a rewind took out of the view. The log keeps it. */
export interface Rewound {
  /** The message that was named: its content can be edited, and sent again. */
  readonly message: Message;
  /** All that is gone, in the order of the log; the message that was named is the first. */
  readonly taken: readonly Message[];
  /** Runs that waited or were cut off, and are over now, as cancelled. */
  readonly cancelled: readonly RunId[];
}

const REWIND_OPTIONS: PartRules<RewindOptions> = { toMessageId: needed(RULES.name) };

/** How often a thread is tried for whose holder turned out to be gone. */
const MAX_TRIES = 3;

/** What is to go. */
interface Cut extends RewoundRows {
  readonly from: SequencedMessage;
  /** Of all rows that go. */
  readonly ids: ReadonlySet<MessageId>;
}

async function readCut({ records }: RunParts, thread: ThreadId, id: MessageId): Promise<Cut> {
  const details = { threadId: thread, messageId: id };
  const [from] = await records.messages.load(thread, [id]);
  if (from === undefined) throw new AwakenError("storage_not_found", `thread '${thread}' has no message '${id}'`, { details });
  const { seq, message } = from;
  const later = await rowsAfter(records.messages, thread, seq);
  if (message.visibility === "internal" || message.metadata?.compaction !== undefined || rewindOver(seq, later) !== undefined) {
    throw new AwakenError("storage_not_found", `message '${id}' is not in view on thread '${thread}'`, { details });
  }
  if (message.role === "tool") {
    throw new AwakenError("invalid_activation", `message '${id}' is the result of a call: rewind to the message that asks for it`, {
      details,
    });
  }
  const rows = [{ seq, message }, ...later];
  return { from, ids: new Set(rows.map((row) => row.message.id)), ...rewoundRows(rows) };
}

function rewindRow(id: MessageId, { from }: Cut): SystemMessage {
  return { id, role: "system", visibility: "internal", content: [], metadata: { rewind: { fromSeq: from.seq } } };
}

/** What it all goes into: one transaction, on the thread exactly as it was read. Whatever came meanwhile is behind the message too. */
function exactly({ messages }: RunRecords, { runs, commit }: CommitPorts): CommitStore {
  const write: CommitPorts["commit"] = async (given) => {
    try {
      return await commit(given);
    } catch (cause) {
      if (!AwakenError.is(cause) || cause.code !== "message_version_conflict") throw cause;
      throw new AwakenError("version_conflict", cause.message, { details: cause.details, cause });
    }
  };
  return { messages, runs, commit: write, transaction: (work) => work({ runs, commit: write }) };
}

interface OnRun {
  readonly store: CommitStore;
  readonly clock: Clock;
  readonly head: ThreadHead;
  readonly run: RunRecord;
  readonly holding?: Holding | undefined;
}

function landingOn({ store, clock, head, run, holding }: OnRun, resumed: RunRecord | undefined): Landing {
  const { messageCount, latestRun } = head;
  const latestAt = latestRun?.updatedAt ?? 0;
  const { activation } = run;
  return new Landing({ store, identity: runIdentity(run), activation, input: [], resumed, messageCount, latestAt, clock, holding });
}

async function loadHead({ records }: RunParts, thread: ThreadId): Promise<ThreadHead> {
  const head = await records.threads.loadHead(thread);
  if (head !== undefined) return head;
  throw new AwakenError("thread_not_found", `thread not found: ${thread}`, { details: { threadId: thread } });
}

async function takeOut(parts: RunParts, thread: ThreadId, id: MessageId): Promise<Rewound> {
  const { records, ids } = parts;
  const by = messageId(ids());
  // What ends a run from its record.
  await commitSeldom.open();
  let isUnsure = false;
  for (let tries = 1; ; tries++) {
    const head = await loadHead(parts, thread);
    const left = await readLeft(parts, thread);
    const cut = await readCut(parts, thread, id);
    const rows = [rewindRow(by, cut), ...cut.late.map((late) => ({ ...late, id: messageId(ids()) }))];
    const event = { type: "thread-rewound", threadId: thread, messageId: cut.from.message.id } as const;
    const taking = { ids: cut.ids, by, rows, event };
    try {
      await records.transaction((ports) => write(parts, exactly(records, ports), head, left, taking));
    } catch (thrown) {
      isUnsure ||= hasCode(thrown, "commit_unknown");
      const isThere = isUnsure && (await records.messages.load(thread, [by])).length > 0;
      if (isThere) return tell(cut, left);
      if (tries === MAX_COMMIT_ATTEMPTS || !(isUnsure || hasCode(thrown, "version_conflict"))) throw thrown;
      continue;
    }
    return tell(cut, left);
  }
}

/** Ends what is open, one after the other, and says it with the last of them. */
async function write(parts: RunParts, store: CommitStore, read: ThreadHead, left: readonly Left[], taking: Taking): Promise<void> {
  const { clock } = parts;
  let head = read;
  for (const [index, each] of endingsOf(left, read).entries()) {
    const news = endOf(parts, each, head, taking, index === left.length - 1);
    const { commit, rowsBefore } = await landingOn({ store, clock, head, ...each }, each.run).land(news);
    const messageCount = rowsBefore + (commit.messageDelta?.messages.length ?? 0);
    const state = withoutCalls(head.state);
    const ended = commit.run === undefined ? {} : { latestRun: { ...commit.run, ordinal: each.run.ordinal } };
    head = { ...head, messageCount, ...ended, ...(state === undefined ? {} : { state }) };
  }
  if (left.length === 0) await append(parts, store, head, taking);
}

const hasCode = (thrown: unknown, code: string): boolean => AwakenError.is(thrown) && thrown.code === code;

/** It is on record. */
async function tell({ from, taken }: Cut, left: readonly Left[]): Promise<Rewound> {
  for (const { holding } of left) await holding?.stopBelow();
  return { message: from.message, taken: taken.map(({ message }) => message), cancelled: left.map(({ run }) => run.runId) };
}

/** Beside the latest run of the thread, whose record stays as it is. */
async function append(parts: RunParts, store: CommitStore, head: ThreadHead, { rows, event }: Taking): Promise<void> {
  const { latestRun, messageCount, thread } = head;
  const { clock } = parts;
  const addition = { messages: rows, events: [event] };
  if (latestRun !== undefined) return landingOn({ store, clock, head, run: latestRun }, undefined).append(addition);
  // Nobody ran here: the log was brought from elsewhere.
  const place = { threadId: thread.id, runId: runId(parts.ids()) };
  await store.commit(composeAddition(place, { count: messageCount, isResumed: true }, addition));
}

/**
 * Takes a message, and all that came behind it, out of what models see, in one transaction that also ends the runs that wait or were cut
 * off there. The thread is taken while it lasts, as by a run; who holds it in another process keeps it, and one that is about to begin
 * there reads it again.
 */
export async function rewind(parts: RunParts, thread: string, options: RewindOptions): Promise<Rewound> {
  checkOptions("invalid_activation", "rewind", options, REWIND_OPTIONS);
  const [id, target] = [threadId(thread), messageId(options.toMessageId)];
  const slot = parts.active.claim(id, runId(parts.ids()));
  // It reads nothing: whoever sends something is told so.
  slot.inbox.close();
  try {
    for (let tries = 1; ; tries++) {
      try {
        return await takeOut(parts, id, target);
      } catch (thrown) {
        const isHeld = AwakenError.is(thrown) && thrown.code === "fence_lost";
        if (!isHeld || parts.holds === undefined || tries === MAX_TRIES) throw thrown;
        await parts.holds.makeRoom(id);
      }
    }
  } finally {
    parts.active.release(slot);
  }
}
