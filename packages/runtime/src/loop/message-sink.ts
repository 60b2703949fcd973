/** What one agent says to another, on the thread of that one. */
export interface AgentMessageRequest {
  /** Makes it idempotent: the same id twice is one message and one run. */
  readonly messageId: string;
  /** The thread that it is for. */
  readonly recipientThreadId: string;
  /** Who is to answer; null: the agent that the thread is with. */
  readonly recipientAgentId: string | null;
  /** Who says it. */
  readonly senderAgentId: string;
  /** What is said. */
  readonly message: string;
}

/** Takes a message to the thread of another agent; gives what it is known by there. When it rejects, it is tried again. */
export type MessageSink = (request: AgentMessageRequest) => Promise<string>;
