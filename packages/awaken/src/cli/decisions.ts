import { isJsonObject, type JsonValue, type RunId } from "@awaken/contract";
import type { EventCursor, ScopedStore, StoredEvent } from "@awaken/contract/store";
import { type Output, timeText } from "./output.ts";
import { brief } from "./printable.ts";

/** Who decided what about a call, as the log of its run keeps it. */
export interface TakenDecision {
  readonly runId: string;
  readonly ticketId: string;
  readonly toolName: string;
  readonly action: string;
  readonly decidedAt: number;
  /** Empty when nobody was named. */
  readonly by: string;
  /** The reason of a refusal, or the input as it was edited; empty without one. */
  readonly detail: string;
}

const PAGE = 200;
const MAX_DETAIL = 200;

const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

function readDecision({ kind, payload, createdAt, runId }: StoredEvent): readonly TakenDecision[] {
  if (kind !== "decision-taken" || !isJsonObject(payload)) return [];
  const { ticketId, toolName, action, decidedAt, by, input, reason } = payload;
  return [
    {
      runId: runId ?? "",
      ticketId: textOf(ticketId),
      toolName: textOf(toolName),
      action: textOf(action),
      decidedAt: typeof decidedAt === "number" ? decidedAt : createdAt,
      by: textOf(by),
      detail: input === undefined ? textOf(reason) : JSON.stringify(input),
    },
  ];
}

async function ofRun({ events }: ScopedStore, runId: RunId): Promise<readonly TakenDecision[]> {
  const found: TakenDecision[] = [];
  let after: EventCursor | undefined;
  do {
    const page = await events.list({ type: "run", runId }, { limit: PAGE, ...(after === undefined ? {} : { after }) });
    found.push(...page.items.flatMap(readDecision));
    after = page.next;
  } while (after !== undefined);
  return found;
}

/** The decisions of these runs, in their order. */
export async function loadDecisions(store: ScopedStore, runs: readonly RunId[]): Promise<readonly TakenDecision[]> {
  return (await Promise.all(runs.map((runId) => ofRun(store, runId)))).flat();
}

export function printDecisions(out: Output, decisions: readonly TakenDecision[]): void {
  for (const { decidedAt, action, toolName, ticketId, by, detail } of decisions) {
    const who = by === "" ? "" : ` by ${brief(by, MAX_DETAIL)}`;
    const how = detail === "" ? "" : `: ${brief(detail, MAX_DETAIL)}`;
    out.line(`decided ${timeText(decidedAt)}${who}: ${brief(`${action} ${toolName} (${ticketId})`, MAX_DETAIL)}${how}`, "dim");
  }
}
