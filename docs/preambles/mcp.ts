// biome-ignore-all lint/correctness/noUnusedImports: the samples behind it use them
import { openai } from "@ai-sdk/openai";
import type { ToolSet } from "ai";
import { createRuntime } from "awaken";

/** As far as the samples use it. */
declare function createMCPClient(config: {
  readonly transport: { readonly type: "http"; readonly url: string; readonly headers?: Record<string, string> };
}): Promise<{ tools(): Promise<ToolSet>; close(): Promise<void> }>;
