import { type PersistedState, type RunIdentity, type RunIntent, type RunRecord, runIdentity } from "@awaken/contract";
import type { ThreadHead } from "@awaken/contract/store";
import { countedBy } from "../../commit/counted.ts";
import { storedCalls } from "../../state/tool-call-states.ts";
import { checkJsonSchema } from "../../tool/json-schema.ts";
import type { ThreadHistory } from "../activation.ts";
import type { LiveOutput } from "../run-context.ts";
import type { RunRecords } from "../run-records.ts";
import { findWork } from "./find-work.ts";
import { noWork, type OpenWork } from "./open-work.ts";

/** A run that goes on, as the records have it. */
export interface Recalled {
  readonly work: OpenWork;
  readonly identity: RunIdentity;
  readonly run: NonNullable<ThreadHistory["run"]>;
  /** Of a new request that goes on with it. */
  readonly intent: RunIntent;
  /** What its answer must fit, checked without the code that it was asked with. */
  readonly output: LiveOutput | undefined;
  /** The agent whose calls were cut off, or wait: they are replayed with its tools, and only then the agent that it handed the thread to goes on. */
  readonly caller: string | undefined;
}

/** Whose calls they are, as far as the state still knows. */
function callerOf(state: PersistedState | undefined, { cutCalls }: OpenWork): string | undefined {
  const calls = storedCalls(state);
  const cut = calls.find((call) => cutCalls.some(({ messageId }) => messageId === call.messageId))?.agentId;
  return cut ?? calls.find((call) => call.status === "suspended" || call.status === "resuming")?.agentId;
}

export async function recall(records: RunRecords, head: ThreadHead | undefined, run: RunRecord): Promise<Recalled> {
  const hasBegun = records.ledger !== undefined && run.status !== "created";
  const work = hasBegun ? await findWork(records, head, run) : noWork(records, head);
  const { intent, options } = run.activation;
  const { output: schema } = options;
  return {
    work,
    identity: runIdentity(run),
    run: { state: run.state, counted: countedBy(run, work.messages) },
    intent: run.status === "created" ? intent : { type: "continuation-from-run", runId: run.runId },
    output: schema && { schema, check: (value) => checkJsonSchema(schema, value) },
    caller: callerOf(head?.state, work),
  };
}
