import { AwakenError, threadId } from "@awaken/contract";
import type { AttachedEvent } from "@awaken/runtime";
import { tellRun } from "../../routes/retell.ts";
import { activeRun, type FrameReply, type Tenant, theThread } from "../../routes/served.ts";
import { tellEvents, telling, until } from "../../routes/told-events.ts";
import type { Dialect } from "./chunk.ts";
import { AiSdkEncoder } from "./encoder.ts";
import { ChatStream } from "./stream.ts";

const isEnd = ({ type }: AttachedEvent): boolean => type === "run-end";

const isKnown = (events: readonly AttachedEvent[], cursor: string): boolean => events.some((event) => event.cursor === cursor);

const expired = () => new AwakenError("cursor_expired", "the cursor is not one of this stream, or too old");

/** Nothing up to this place, all behind it. */
function behind(cursor: string | undefined): { readonly isFirst?: (event: AttachedEvent) => boolean } {
  if (cursor === undefined) return {};
  let isPassed = false;
  return {
    isFirst(event) {
      const isFirst = isPassed;
      if (event.cursor === cursor) isPassed = true;
      return isFirst;
    },
  };
}

/** The events of the message that is being written: those of its run, from where a new message began it or took it up. */
function currentAnswer(past: readonly AttachedEvent[]): readonly AttachedEvent[] {
  const probe = new AiSdkEncoder({ dialect: 7 });
  let [from, runStart, answers] = [0, 0, 0];
  for (const [index, event] of past.entries()) {
    if (event.type === "run-start") runStart = index;
    probe.encode(event);
    if (probe.answers !== answers) from = runStart;
    answers = probe.answers;
  }
  return past.slice(from);
}

export interface ReplayQuery {
  readonly dialect: Dialect;
  /** Behind this; without it the whole message. */
  readonly cursor: string | undefined;
}

/**
 * What a page that comes back in the middle of an answer is told: all of the message, then what happens. Undefined when nothing is at work, also on a
 * thread that nothing was said in yet: a new page asks as well.
 */
export async function reconnect(tenant: Tenant, id: string, { dialect, cursor }: ReplayQuery): Promise<FrameReply | undefined> {
  if (cursor?.trim() === "") throw new AwakenError("invalid_id", "the cursor is blank");
  const thread = await tenant.records.threads.load(threadId(id));
  const run = thread === undefined ? undefined : await activeRun(tenant, thread);
  if (run?.status !== "running") return undefined;
  const { past, coming } = await tellRun(tenant, run);
  if (cursor !== undefined && !isKnown(past, cursor)) {
    await coming.return?.();
    throw expired();
  }
  const told = currentAnswer(past);
  const isOver = told.at(-1)?.type === "run-end";
  const frontendTools = run.activation.options.frontendTools.map((tool) => tool.id);
  const stream = new ChatStream(new AiSdkEncoder({ dialect, frontendTools }), behind(cursor));
  // An earlier end is one that the run went on from.
  const last = told.length;
  let at = 0;
  const isLast = (event: AttachedEvent) => {
    at += 1;
    return isEnd(event) && (at > last || (isOver && at === last));
  };
  return { events: until(telling(tenant, coming), { past: told, isLast }), runId: run.runId, threadId: run.threadId, encoder: stream };
}

/** What is on record of a thread, from a place on, and no more than so many events with a place. */
export async function replay(
  tenant: Tenant,
  id: string,
  { dialect, cursor, limit }: ReplayQuery & { readonly limit: number },
): Promise<FrameReply> {
  if (cursor?.trim() === "") throw new AwakenError("invalid_id", "the cursor is blank");
  await theThread(tenant, id);
  const { past, coming } = await tellEvents(tenant.runtime, id);
  await coming.return?.();
  if (cursor !== undefined && !isKnown(past, cursor)) throw expired();
  const start = cursor === undefined ? 0 : past.findIndex((event) => event.cursor === cursor) + 1;
  let left = limit;
  const end = past.findIndex((event, index) => index >= start && event.cursor !== undefined && --left === 0);
  const stored = past.slice(0, end === -1 ? past.findLastIndex((event) => event.cursor !== undefined) + 1 : end + 1);
  const stream = new ChatStream(new AiSdkEncoder({ dialect }), { ...behind(cursor), isRecord: true });
  return { events: until(coming, { past: stored, isLast: () => false }), threadId: id, encoder: stream };
}
