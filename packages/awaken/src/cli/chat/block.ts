import type { Ticket } from "@awaken/contract";

/** How far a tool call is. `note` is what it last reported, empty when it said nothing. */
export type ToolState =
  | { readonly type: "running"; readonly note: string }
  | { readonly type: "waiting" }
  | { readonly type: "over"; readonly outcome: ToolEnd; readonly result: string };

/** `answered`: a person gave the result, and the tool did not run. */
export type ToolEnd = "succeeded" | "answered" | "failed" | "denied" | "cancelled";

/** A ticket with the number that people call it by. */
export interface NumberedTicket {
  readonly number: number;
  readonly ticket: Ticket;
}

/** `how` says what became of it: approved, denied, answered, or closed with its run. */
export const ANSWERED = "answered";
export type TicketState = { readonly type: "open" } | { readonly type: "closed"; readonly how: string };

/** `listing` is what a command was asked for. */
export type NoteTone = "listing" | "info" | "warning" | "error";

/** One thing that the conversation shows, from top to bottom. Every text in it is clean. Blocks are replaced, never changed. */
export type Block =
  | { readonly type: "user"; readonly text: string; readonly how: "asked" | "sent" | "queued" }
  | { readonly type: "answer"; readonly text: string; readonly isOpen: boolean }
  | { readonly type: "thought"; readonly text: string; readonly isOpen: boolean }
  /** An answer that has a shape, while it is written. */
  | { readonly type: "draft"; readonly text: string }
  | { readonly type: "output"; readonly json: string }
  /** `asked` is the input that the model gave, `input` the one that it runs with. */
  | {
      readonly type: "tool";
      readonly callId: string;
      readonly name: string;
      readonly asked: string;
      readonly input: string;
      readonly state: ToolState;
    }
  | { readonly type: "ticket"; readonly ask: NumberedTicket; readonly message: string; readonly input: string; readonly state: TicketState }
  /** Work in the background of the thread. */
  | { readonly type: "task"; readonly taskId: string; readonly about: string; readonly status: string }
  | { readonly type: "note"; readonly tone: NoteTone; readonly text: string };

export type BlockOf<T extends Block["type"]> = Extract<Block, { readonly type: T }>;

export type Change =
  | { readonly type: "added"; readonly index: number; readonly block: Block }
  | { readonly type: "changed"; readonly index: number; readonly block: Block; readonly before: Block }
  /** Blocks went away: everything is to be shown anew. `why` is for those who cannot take back what they showed. */
  | { readonly type: "reset"; readonly why: string };
