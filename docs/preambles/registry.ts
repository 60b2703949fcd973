// biome-ignore-all lint/correctness/noUnusedImports: the samples behind it use them
import { openai } from "@ai-sdk/openai";
import type { Runtime } from "awaken";

declare const runtime: Runtime;
