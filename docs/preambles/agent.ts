// biome-ignore-all lint/correctness/noUnusedImports: the samples behind it use them
import { openai } from "@ai-sdk/openai";
import type { AgentInput, RuntimeInit } from "awaken";
import { command, createRuntime, defineTool, reply } from "awaken";
import * as z from "zod";
