/** Who a message of an agent is for. */
export type MessageRecipient =
  | {
      /** The run that started this one. */
      readonly relation: "parent";
    }
  | {
      /** A task in the background of this thread. */
      readonly relation: "child";
      /** Its id, or the name that it was given. */
      readonly name: string;
    }
  | {
      /** Whatever agent is at work on another thread. */
      readonly relation: "agent";
      /** That thread. */
      readonly threadId: string;
      /** The agent that is to answer. Default: the one that the thread is with. */
      readonly agentId?: string;
    };

/** What became of a message. */
export type MessageReceipt =
  | {
      /** `accepted`: it is with the recipient. `queued`: it is on record, and will be. */
      readonly status: "accepted" | "queued";
      /** Names it, for those who look for it. */
      readonly messageId: string;
    }
  | {
      /** Nobody will read it. */
      readonly status: "failed";
      /** Empty: there is none. */
      readonly messageId: "";
      /** `recipient_not_found`, `permission_denied`, `recipient_unavailable`, or `transport_failed: ` and why. */
      readonly error: string;
    };

/** Says something to another agent. A recipient that cannot be reached is a receipt, and no error. */
export type SendMessage = (to: MessageRecipient, message: string) => Promise<MessageReceipt>;
