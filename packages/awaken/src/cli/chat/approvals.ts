import { AwakenError, errorMessage, type JsonValue } from "@awaken/contract";
import { PERMISSION_CONFIRM, remember } from "@awaken/extensions/permission";
import type { DecisionInput } from "@awaken/runtime";
import { ANSWERED, type NumberedTicket } from "./block.ts";

export type DecisionCommand = "approve" | "deny" | "answer" | "always" | "never";

/** What was said about which tickets. */
export interface Decided {
  readonly tickets: readonly NumberedTicket[];
  readonly decision: DecisionInput;
  /** In a word or two, for the conversation. */
  readonly how: string;
}

/** What people say when they are asked, and about which: a number, `all`, or nothing. */
export interface PlainDecision {
  readonly command: Exclude<DecisionCommand, "answer">;
  readonly which: string;
}

/** In a question. */
export const SPOKEN: { readonly [C in PlainDecision["command"]]: string } = {
  approve: "approve",
  deny: "deny",
  always: "always allow",
  never: "never allow",
};

const SAID = /^(?:(y|yes|approve|ok|okay)|(always|never)|n|no|deny)(?:[ ,]+(?:to )?(#?\d+|all|both))?[.!]?$/i;
const WHICH = /^(?:#?\d+|all|both)[.!]?$/i;

const whichOf = (word: string): string => (/^\d+$/.test(word) ? `#${word}` : word.toLowerCase().replace("both", "all"));

export function plainDecision(text: string): PlainDecision | undefined {
  const [all, yes, lasting, which = ""] = SAID.exec(text) ?? [];
  if (all === undefined) return undefined;
  const once = yes === undefined ? "deny" : "approve";
  return { command: lasting === undefined ? once : /^a/i.test(lasting) ? "always" : "never", which: whichOf(which) };
}

/** What was said to the question which one is meant. */
export const plainWhich = (text: string): string | undefined => (WHICH.test(text) ? whichOf(text.replace(/[.!]$/, "")) : undefined);

/** What waits, by number. */
export const numbered = (open: readonly NumberedTicket[]): string => open.map(({ number }) => `#${number}`).join(", ");

const refuse = (message: string): never => {
  throw new AwakenError("invalid_resume", message);
};

/** A part of an id that is long enough to be no word of a reason. */
const isShort = (word: string): boolean => word.length >= 6 && /\d/.test(word);

function ticketNamed(open: readonly NumberedTicket[], word: string): NumberedTicket | undefined {
  const exact = open.find(({ number, ticket }) => word === `#${number}` || word === ticket.id);
  if (exact !== undefined || !isShort(word)) return exact;
  const [only, ...others] = open.filter(({ ticket }) => ticket.id.startsWith(word) || ticket.id.endsWith(word));
  return others.length === 0 ? only : undefined;
}

/**
 * The tickets that the first word names, and what stands behind it. Without a name the one that is open is meant. `all` is a name
 * alone, before JSON and with a colon: a reason may begin with that word.
 */
export function addressed(
  open: readonly NumberedTicket[],
  rest: string,
): { readonly tickets: readonly NumberedTicket[]; readonly rest: string } {
  const [first, ...others] = open;
  if (first === undefined) return refuse("no call waits for a decision");
  const [, word = "", behind = ""] = /^(\S+)\s*([\s\S]*)$/.exec(rest.trim()) ?? [];
  if (word === "all:" || (word === "all" && /^(?:$|[{["])/.test(behind))) return { tickets: open, rest: behind };
  const named = ticketNamed(open, word);
  if (named !== undefined) return { tickets: [named], rest: behind };
  if (/^#\d+$/.test(word)) refuse(`no open ticket ${word}; open: ${numbered(open)}`);
  if (others.length > 0) refuse(`${open.length} calls wait: say which of ${numbered(open)}, or all`);
  return { tickets: [first], rest: rest.trim() };
}

function parseJson(text: string, what: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    return refuse(`${what} must be JSON: ${errorMessage(thrown)}`);
  }
}

/** Whether what is decided about it may stand for the rest of the thread. */
export const canRemember = ({ ticket }: NumberedTicket): boolean => ticket.action === PERMISSION_CONFIRM;

function parseLasting(name: "always" | "never", tickets: readonly NumberedTicket[], rule: string): Decided {
  const once = tickets.find((open) => !canRemember(open));
  if (once !== undefined) return refuse(`call #${once.number} asks for itself alone: /approve or /deny it`);
  const action = name === "always" ? "approve" : "deny";
  const about = rule === "" ? "" : `: ${rule}`;
  return {
    tickets,
    decision: { action, ...remember(rule === "" ? {} : { rule }) },
    how: `${name === "always" ? "approved" : "denied"} for this thread${about}`,
  };
}

/** `/approve [#n] [json]`, `/deny [#n] [reason]`, `/always [#n] [pattern]`, `/never [#n] [pattern]`, `/answer [#n] json`. Throws when it does not say what it has to. */
export function parseDecision(name: DecisionCommand, open: readonly NumberedTicket[], text: string): Decided {
  const { tickets, rest } = addressed(open, text);
  switch (name) {
    case "approve":
      if (rest === "") return { tickets, decision: { action: "approve" }, how: "approved" };
      if (tickets.length > 1) return refuse("an edited input is for one ticket: say which, as in /approve #1 {…}");
      return { tickets, decision: { action: "approve", input: parseJson(rest, "the edited input") }, how: "approved with another input" };
    case "deny":
      return rest === ""
        ? { tickets, decision: { action: "deny" }, how: "denied" }
        : { tickets, decision: { action: "deny", reason: rest }, how: `denied: ${rest}` };
    case "always":
    case "never":
      return parseLasting(name, tickets, rest);
    case "answer":
      if (rest === "") return refuse('an answer needs a result, as in /answer {"ok":true}');
      return { tickets, decision: { action: "answer", result: parseJson(rest, "the result") }, how: ANSWERED };
  }
}

/** What JSON lets through and a terminal would obey. */
const OBEYED = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** The line that approves a ticket with its own input, ready to be edited. */
export function editLine({ number, ticket }: NumberedTicket): string {
  return `/approve #${number} ${JSON.stringify(ticket.input, null, 2).replaceAll(OBEYED, escaped)}`;
}
