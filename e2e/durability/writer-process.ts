import { setTimeout as sleep } from "node:timers/promises";
import { AwakenError, messageId, runId, threadId, type UserMessage } from "@awaken/contract";
import type { EventDraft, ThreadCommit } from "@awaken/contract/store";
import { openStore, type Place } from "./support/place.ts";

// One of two processes that append to the same thread, each as if it were alone there.

export interface WriterOrder {
  readonly place: Place;
  readonly thread: string;
  readonly name: string;
  readonly commits: number;
}

/** Tells that it can begin; the answer, of whatever kind, is the start. */
export interface Ready {
  readonly type: "ready";
  readonly name: string;
}

export interface Written {
  readonly type: "written";
  readonly name: string;
  readonly conflicts: number;
}

/** How far one may be ahead of the other: neither is done before the other has begun. */
const AHEAD = 20;

const argument = process.argv[2];
if (argument === undefined) throw new Error("what to do is missing");
const order: WriterOrder = JSON.parse(argument);
const { name, commits } = order;
const thread = threadId(order.thread);
const run = runId(`run-${name}`);

const store = await openStore(order.place);
let conflicts = 0;
/** Rows of the log as this process knows it: only its own commits and refusals tell it. */
let known = 0;

function commitOf(index: number): ThreadCommit {
  const message: UserMessage = { id: messageId(`${name}-${index}`), role: "user", content: [{ type: "text", text: `${index}` }] };
  const draft: EventDraft = {
    ...{ schemaVersion: 1, kind: "written", payload: { message: message.id }, visibility: "public", origin: name },
    ...{ threadId: thread, runId: run },
  };
  return { threadId: thread, runId: run, messageDelta: { messages: [message], expectedMessageCount: known }, events: [{ draft }] };
}

/** As often as it takes: every conflict means that the other one got further. */
async function write(index: number): Promise<void> {
  for (;;) {
    try {
      known = (await store.commit(commitOf(index))).messageCount;
      return;
    } catch (thrown) {
      if (!AwakenError.is(thrown) || thrown.code !== "message_version_conflict") throw thrown;
      const { expected, actual } = thrown.details;
      if (expected !== known || typeof actual !== "number" || actual <= known) throw thrown;
      conflicts += 1;
      known = actual;
    }
  }
}

/** Until the other one is not far behind. What it reads here it forgets: its next guard is stale. */
async function keepPace(own: number): Promise<void> {
  while (own < commits && 2 * own - (await store.messages.count(thread)) > AHEAD) await sleep(1);
}

process.on("disconnect", () => process.exit(1));
const begun = new Promise((resolve) => process.once("message", resolve));
await store.messages.count(thread);
process.send?.({ type: "ready", name } satisfies Ready);
await begun;
for (let index = 0; index < commits; index++) {
  await write(index);
  await keepPace(index + 1);
}
await store.close();
process.send?.({ type: "written", name, conflicts } satisfies Written, () => process.exit(0));
