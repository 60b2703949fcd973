// biome-ignore-all lint/correctness/noUnusedImports: the samples behind it use them
// biome-ignore-all lint/correctness/noUnusedVariables: the samples behind it use them
import type { UseChatHelpers } from "@ai-sdk/react";
import { isToolUIPart, type ToolUIPart, type UIMessage } from "ai";
import { createClient } from "awaken/client";

declare const { addToolApprovalResponse, resumeStream, setMessages }: UseChatHelpers<UIMessage>;
declare const message: UIMessage;
declare const part: Extract<ToolUIPart, { state: "approval-requested" }>;
const client = createClient({ url: "/api" });
declare const input: { amount: number };
declare const threadId: string;
declare function loadMessages(threadId: string): Promise<UIMessage[]>;
