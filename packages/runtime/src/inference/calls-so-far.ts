import type { ToolCall } from "@awaken/contract";
import { type CallDraft, cutInput, toToolCall } from "./call-draft.ts";
import type { Entry } from "./collected.ts";
import type { Collector } from "./collector.ts";

const isOurs = (entry: Entry): entry is CallDraft => entry.type === "call" && entry.isOurs;

/** Our calls that came whole, even if the stream broke now. */
export const completeCalls = ({ entries }: Collector): readonly ToolCall[] =>
  entries.filter(isOurs).flatMap((draft) => {
    const input = cutInput(draft);
    return input === undefined ? [] : [toToolCall(draft, input)];
  });

/** Our calls that clients heard of and that have not come whole. */
export const callsInFlight = ({ entries }: Collector): readonly Readonly<CallDraft>[] =>
  entries.filter(isOurs).filter((draft) => draft.name !== "" && cutInput(draft) === undefined);
