import type { MessageId, PersistedState, RunRecord } from "@awaken/contract";
import type { ThreadHead } from "@awaken/contract/store";
import { storedCalls } from "../../state/tool-call-states.ts";
import type { Door } from "../../stream/door.ts";
import type { ThreadHistory } from "../activation.ts";
import type { LastingRecords, RunRecords } from "../run-records.ts";

const NOTHING: readonly never[] = Object.freeze([]);

/** What is loaded for runs that go on. */
export interface WorkRoom {
  findWork(records: LastingRecords, head: ThreadHead | undefined, resumed: RunRecord): Promise<OpenWork>;
}

export type OpenWork = Pick<ThreadHistory, "messages" | "cutCalls" | "ledger">;

/** What the ledger has open of the run that goes on, and the view with the step that was cut off. */
export function openWork(
  records: RunRecords,
  head: ThreadHead | undefined,
  resumed: RunRecord | undefined,
  seldom: Door<WorkRoom>,
): OpenWork | Promise<OpenWork> {
  const messages = head?.messages ?? NOTHING;
  if (records.ledger === undefined) return { messages, cutCalls: NOTHING, ledger: undefined };
  if (resumed === undefined || resumed.status === "created") return { messages, cutCalls: NOTHING, ledger: NOTHING };
  return Promise.resolve(seldom.open()).then(({ findWork }) => findWork(records, head, resumed));
}

/** Whose calls they are, as far as the state still knows. */
export function agentOfCut(state: PersistedState | undefined, cutCalls: readonly { readonly messageId: MessageId }[]): string | undefined {
  return storedCalls(state).find((call) => cutCalls.some((cut) => cut.messageId === call.messageId))?.agentId;
}
