import { timeText } from "../output.ts";
import { clean, cutAt } from "../sanitize.ts";
import { canRemember } from "./approvals.ts";
import type { Block, BlockOf, ToolState } from "./block.ts";
import { jsonLine } from "./text-limits.ts";

const MARK = { listing: "-", info: "-", warning: "!", error: "error:" } as const;
const HOW = { asked: "", sent: " (sent to the run that is under way)", queued: " (queued: it follows when the run is over)" } as const;

/** Lines after the first stand under it. */
const indent = (text: string, by: string): string => text.replaceAll("\n", `\n${by}`);

export const userText = ({ text, how }: BlockOf<"user">): string => `> ${indent(text, "  ")}${HOW[how]}`;

export const noteText = ({ tone, text }: BlockOf<"note">): string => `${MARK[tone]} ${indent(text, "  ")}`;

export const taskText = ({ taskId, about, status }: BlockOf<"task">): string => `+ ${taskId} ${about}: ${status}`;

/** What the runtime puts before a detail for the model: beside the outcome it would say the same twice. */
const SAID_ALREADY = /^(?:cancelled|denied|execution failed)(?:: |$)/i;

/** What became of a call, each thing once. */
export function overText({ outcome, result }: Extract<ToolState, { readonly type: "over" }>): string {
  const detail = outcome === "succeeded" || outcome === "answered" ? result : result.replace(SAID_ALREADY, "");
  return detail === "" ? outcome : `${outcome}: ${detail}`;
}

function stateText(state: ToolState): string {
  switch (state.type) {
    case "running":
      return state.note === "" ? "running" : state.note;
    case "waiting":
      return "waits for a decision";
    case "over":
      return indent(overText(state), "    ");
  }
}

/** What a call runs with, and what it was asked for when a person changed that. */
export const inputText = ({ asked, input }: BlockOf<"tool">): string => (asked === input ? input : `${input} (edited, asked for ${asked})`);

/** A call in one line. */
const callLine = (block: BlockOf<"tool">): string => `* ${block.name} ${indent(inputText(block), "    ")}`;

export const toolText = (block: BlockOf<"tool">): string => {
  const { state } = block;
  return state.type === "running" && state.note === "" ? callLine(block) : `${callLine(block)}\n  ${stateText(state)}`;
};

const SHORT = 60;

/** What became of a call, on a line of its own. */
export function toolStateText({ name, asked, input, state }: BlockOf<"tool">): string {
  const [line = ""] = input.split("\n");
  const edited = asked === input ? "" : " (edited)";
  return `* ${name} ${line.length > SHORT ? `${cutAt(line, SHORT)}…` : line}${edited} ${stateText(state)}`;
}

export function ticketText({ ask, message, input, state }: BlockOf<"ticket">): string {
  const { number, ticket } = ask;
  const { toolName, agentPath = [], responseSchema, expiresAt } = ticket;
  const path = agentPath.length < 2 ? "" : ` (asked by ${clean(agentPath.join(" > "))})`;
  const lines = [
    `? #${number} ${indent(message, "  ")}`,
    `  ${clean(toolName)} ${indent(input, "  ")}`,
    `  ticket ${clean(ticket.id)}${path}${state.type === "closed" ? `: ${state.how}` : ""}`,
  ];
  if (state.type === "closed") return lines.join("\n");
  if (expiresAt !== undefined) lines.push(`  expires ${timeText(expiresAt)} UTC`);
  if (responseSchema !== undefined) lines.push(`  an answer should fit ${jsonLine(responseSchema)}`);
  const lasting = canRemember(ask) ? ", always or never for this thread" : "";
  return [...lines, `  yes or no${lasting}, /approve {json}, /deny reason, /answer {json}; with #${number} or all when several wait`].join(
    "\n",
  );
}

/** A block as lines of text. */
export function blockText(block: Block): string {
  switch (block.type) {
    case "user":
      return userText(block);
    case "answer":
      return block.text;
    case "thought":
      return `~ ${indent(block.text, "  ")}`;
    case "draft":
      return "";
    case "output":
      return block.json;
    case "tool":
      return toolText(block);
    case "ticket":
      return ticketText(block);
    case "task":
      return taskText(block);
    case "note":
      return noteText(block);
  }
}
