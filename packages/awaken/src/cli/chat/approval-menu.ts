import { type SelectItem, SelectList } from "@earendil-works/pi-tui";
import { clean } from "../sanitize.ts";
import { canRemember, editLine } from "./approvals.ts";
import type { NumberedTicket } from "./block.ts";
import type { Theme } from "./theme.ts";

/** What a choice does: a line that is given at once, or one that the person goes on writing. */
export type Choice =
  | { readonly type: "submit"; readonly line: string }
  | { readonly type: "write"; readonly line: string }
  | { readonly type: "later" };

const ROWS = 8;

interface Entry extends SelectItem {
  readonly choice: Choice;
}

function entriesOf(open: NumberedTicket): readonly Entry[] {
  const { number, ticket } = open;
  const about = clean(ticket.message ?? ticket.toolName).replaceAll("\n", " ");
  const entry = (label: string, choice: Choice): Entry => ({
    value: `${label} #${number}`,
    label: `${label} #${number}`,
    description: about,
    choice,
  });
  const answer = entry("Answer", { type: "write", line: `/answer #${number} ` });
  const deny = entry("Deny", { type: "write", line: `/deny #${number} ` });
  if (ticket.resumeMode === "use-decision-as-tool-result") return [answer, deny];
  return [
    entry("Approve", { type: "submit", line: `/approve #${number}` }),
    ...(canRemember(open) ? [entry("Always for this thread", { type: "submit", line: `/always #${number}` })] : []),
    entry("Edit and approve", { type: "write", line: editLine(open) }),
    deny,
    ...(canRemember(open) ? [entry("Never in this thread", { type: "submit", line: `/never #${number}` })] : []),
    answer,
  ];
}

/** One choice for several. Calls that wait for an answer cannot be approved. */
function entriesForAll(tickets: readonly NumberedTicket[]): readonly Entry[] {
  if (tickets.length < 2) return [];
  const entry = (label: string, choice: Choice): Entry => ({ value: label, label, description: `${tickets.length} calls`, choice });
  const deny = entry("Deny all", { type: "write", line: "/deny all: " });
  const isAnswer = tickets.some(({ ticket }) => ticket.resumeMode === "use-decision-as-tool-result");
  return isAnswer ? [deny] : [entry("Approve all", { type: "submit", line: "/approve all" }), deny];
}

/** Comes first: a stray Enter must not approve anything. */
const LATER: Entry = {
  value: "later",
  label: "Decide later",
  description: "Escape does the same, Enter asks again",
  choice: { type: "later" },
};

/** Asks about the open tickets, in any order. */
export function approvalMenu(tickets: readonly NumberedTicket[], theme: Theme, choose: (choice: Choice) => void): SelectList {
  const entries = [LATER, ...tickets.flatMap(entriesOf), ...entriesForAll(tickets)];
  const list = new SelectList(entries, ROWS, theme.list);
  list.onSelect = ({ value }) => {
    const chosen = entries.find((entry) => entry.value === value);
    if (chosen !== undefined) choose(chosen.choice);
  };
  list.onCancel = () => choose(LATER.choice);
  return list;
}
