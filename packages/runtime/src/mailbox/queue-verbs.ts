import type { RunId, ThreadId } from "@awaken/contract";
import type { LoopOutcome } from "../loop/finish.ts";
import type { RequestInput } from "../run/message-input.ts";
import type { BusyStart } from "../run/on-busy.ts";
import { cancelElsewhere, endElsewhere } from "./control.ts";
import { type DeadLetterVerbs, deadLetterVerbs } from "./dead-letters.ts";
import { type Interrupted, interrupt } from "./interrupt.ts";
import { submitBusy } from "./on-busy.ts";
import { type PendingVerbs, pendingVerbs } from "./pending.ts";
import { type SendMode, type Sent, sendDurably } from "./send.ts";
import { type Started, type StartRequest, start } from "./submit.ts";
import type { Tenant } from "./tenant.ts";

/** What a tenant can ask of the queue. */
export interface QueueVerbs {
  start(request: StartRequest): Promise<Started>;
  send(id: string, input: RequestInput, mode: SendMode): Promise<Sent>;
  interrupt(thread: ThreadId): Promise<Interrupted>;
  /** Starts a run here when its thread is free. */
  submit(start: BusyStart): Promise<LoopOutcome>;
  /** Tells a run to stop that is not executed here; false when there is none. */
  cancel(id: string): Promise<boolean>;
  /** The same, and waits until it is over. */
  end(id: string, timeoutMs: number): Promise<boolean>;
  readonly pending: PendingVerbs;
  readonly deadLetters: DeadLetterVerbs;
}

/** `mail`: a run of this process need not wait for the hint. */
export const queueVerbs = (tenant: Tenant, mail: (runId: RunId) => void): QueueVerbs => ({
  start: (request) => start(tenant, request),
  send: async (id, input, mode) => {
    const sent = await sendDurably(tenant, id, input, mode);
    if (sent.runId !== undefined) mail(sent.runId);
    return sent;
  },
  interrupt: (thread) => interrupt(tenant, thread),
  submit: (busy) => submitBusy(tenant, busy),
  cancel: (id) => cancelElsewhere(tenant, id),
  end: (id, timeoutMs) => endElsewhere(tenant, id, timeoutMs),
  pending: pendingVerbs(tenant),
  deadLetters: deadLetterVerbs(tenant),
});
