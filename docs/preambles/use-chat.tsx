// biome-ignore-all lint/correctness/noUnusedImports: the samples behind it use them
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";

declare const threadId: string;
