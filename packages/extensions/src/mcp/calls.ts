import { errorMessage } from "@awaken/contract";
import { type Clock, onAbort } from "@awaken/runtime";
import type { CallOrder, CallOutcome } from "./caller.ts";
import type { Connection } from "./connection.ts";
import { NO_ANSWER } from "./http-transport.ts";
import type { Sdk } from "./load-sdk.ts";

/** What one request came to. `expired`: the server did not know the session, so it took nothing, and the request may be sent once more. */
export type Sent =
  | CallOutcome
  | { readonly type: "expired" }
  | { readonly type: "broken"; readonly code: "timeout" | "execution_failed"; readonly why: string };

const CANCELLED: CallOutcome = { type: "failed", code: "cancelled", message: "the run was cancelled" };

export interface SendParts {
  readonly sdk: Sdk;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

function sortOut({ sdk }: SendParts, connection: Connection, thrown: unknown): Sent {
  const why = errorMessage(thrown);
  if (thrown instanceof sdk.SdkHttpError && thrown.status === 404 && connection.hasSession) return { type: "expired" };
  if (thrown instanceof sdk.ProtocolError && thrown.data !== NO_ANSWER) return { type: "failed", code: "execution_failed", message: why };
  return { type: "broken", code: "execution_failed", why };
}

/** Sends one call and waits, as long as it makes progress. The server is told when nobody waits any more, unless it was never asked. */
export async function sendCall(parts: SendParts, connection: Connection, order: CallOrder): Promise<Sent> {
  if (order.signal.aborted) return CANCELLED;
  const { clock, timeoutMs } = parts;
  const controller = new AbortController();
  let isLate = false;
  let stopTimer = () => {};
  const wait = () => {
    stopTimer();
    stopTimer = clock.timer(timeoutMs, () => {
      isLate = true;
      controller.abort("timed out");
    });
  };
  const onProgress: CallOrder["onProgress"] = (progress) => {
    wait();
    order.onProgress(progress);
  };
  const off = onAbort(order.signal, () => controller.abort("client run cancelled"));
  wait();
  try {
    const { tool: name, input, meta } = order;
    const result = await connection.callTool({ name, input, meta, signal: controller.signal, onProgress });
    return { type: "answered", result };
  } catch (thrown) {
    if (isLate) return { type: "broken", code: "timeout", why: `no answer within ${timeoutMs} ms` };
    return order.signal.aborted ? CANCELLED : sortOut(parts, connection, thrown);
  } finally {
    stopTimer();
    off();
  }
}
