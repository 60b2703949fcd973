import type { JsonValue, Ticket } from "@awaken/contract";
import { COMMAND, quoted, sameProject } from "./command-name.ts";
import { type Output, timeText } from "./output.ts";
import { brief } from "./printable.ts";
import type { ProjectOptions } from "./shell.ts";

const MAX_INPUT = 200;

/** To be changed and given back, when it is short enough to be read. */
function inputText(input: JsonValue): string {
  const text = JSON.stringify(input);
  return text.length > MAX_INPUT ? "'<json>'" : quoted(text);
}

/** What waits, and what to type about it. */
export function printTickets(out: Output, tickets: readonly Ticket[], options: ProjectOptions): void {
  const more = sameProject(options);
  for (const { id, toolName, input, message, action, agentPath = [], canEdit = true, expiresAt } of tickets) {
    const decide = `${COMMAND} decide ${quoted(id)}`;
    out.line(`waits for a decision: ${id}`, "yellow");
    out.fields(
      [
        ["tool", `${toolName} ${brief(JSON.stringify(input), MAX_INPUT)}`],
        ["asks", message ?? action],
        ...(agentPath.length < 2 ? [] : [["agent", agentPath.join(" → ")] as const]),
        ...(expiresAt === undefined ? [] : [["expires", `${timeText(expiresAt)} UTC`] as const]),
        ["approve", `${decide} --approve${more}`],
        ...(canEdit ? [["edit", `${decide} --approve --input ${inputText(input)}${more}`] as const] : []),
        ["deny", `${decide} --deny '<reason>'${more}`],
        ["answer", `${decide} --answer '<json>'${more}`],
      ],
      "  ",
    );
  }
}
