import { messageId, NO_USAGE, type PersistedState, type RunProjection, runId, STATE_SCHEMA_VERSION, threadId } from "@awaken/contract";
import { openStore, type Place } from "./support/place.ts";

// Commits steps of one run, as fast as it can. Every commit writes its number into each part of the thread.

export interface StepsOrder {
  readonly place: Place;
  readonly thread: string;
  readonly steps: number;
}

/** Told at the end. */
export interface Stepped {
  readonly step: number;
}

const argument = process.argv[2];
if (argument === undefined) throw new Error("what to do is missing");
const { place, thread, steps }: StepsOrder = JSON.parse(argument);
const [id, run] = [threadId(thread), runId(`run-${thread}`)];
process.on("disconnect", () => process.exit(1));

const recordOf = (step: number): RunProjection => ({
  ...{ schemaVersion: 2, status: "running", runId: run, threadId: id, agentId: "assistant", steps: step, usage: NO_USAGE, decided: [] },
  activation: {
    ...{ intent: { type: "new-intent" }, options: { frontendTools: [] } },
    trace: { origin: "user", runMode: "foreground", adapter: "internal" },
  },
  ...{ input: { triggerMessageIds: [], selectedMessageIds: [] }, createdAt: 1, startedAt: 1, updatedAt: step },
});
const stateOf = (step: number): PersistedState => ({ schemaVersion: STATE_SCHEMA_VERSION, revision: step, extensions: {} });

const store = await openStore(place);
for (let step = 1; step <= steps; step++) {
  await store.commit({
    threadId: id,
    runId: run,
    messageDelta: {
      messages: [{ id: messageId(`m${step}`), role: "user", content: [{ type: "text", text: `${step}` }] }],
      expectedMessageCount: step - 1,
    },
    run: recordOf(step),
    threadState: stateOf(step),
  });
}
await store.close();
process.send?.({ step: steps } satisfies Stepped, () => process.exit(0));
