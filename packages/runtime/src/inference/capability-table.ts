import type { Modality } from "@awaken/contract/spec";

const TEXT: readonly Modality[] = ["text"];
const SEES: readonly Modality[] = ["text", "image"];
const READS: readonly Modality[] = ["text", "image", "pdf"];
const ALL: readonly Modality[] = ["text", "image", "audio", "video", "pdf"];

/** Beginning of the upstream name, window, longest answer, and what it reads. What vendors publish; only a guess for any one endpoint. */
const TABLE: readonly (readonly [prefix: string, contextWindow: number, maxOutputTokens: number, input: readonly Modality[]])[] = [
  ["gpt-3.5-turbo", 16_385, 4096, TEXT],
  ["gpt-4-turbo", 128_000, 4096, SEES],
  ["gpt-4o", 128_000, 16_384, READS],
  ["gpt-4.1", 1_047_576, 32_768, READS],
  ["gpt-5", 400_000, 128_000, READS],
  ["gpt-5-chat", 128_000, 16_384, READS],
  ["gpt-oss", 131_072, 131_072, TEXT],
  ["o1", 200_000, 100_000, READS],
  ["o1-mini", 128_000, 65_536, TEXT],
  ["o3", 200_000, 100_000, READS],
  ["o3-mini", 200_000, 100_000, TEXT],
  ["o4-mini", 200_000, 100_000, READS],
  ["claude-3-haiku", 200_000, 4096, SEES],
  ["claude-3-opus", 200_000, 4096, SEES],
  ["claude-3-5-haiku", 200_000, 8192, READS],
  ["claude-3-5-sonnet", 200_000, 8192, READS],
  ["claude-3-7-sonnet", 200_000, 64_000, READS],
  ["claude-haiku-4", 200_000, 64_000, READS],
  ["claude-sonnet-4", 200_000, 64_000, READS],
  ["claude-opus-4", 200_000, 32_000, READS],
  ["claude-opus-4-5", 200_000, 64_000, READS],
  ["gemini-1.5-flash", 1_048_576, 8192, ALL],
  ["gemini-1.5-pro", 2_097_152, 8192, ALL],
  ["gemini-2.0-flash", 1_048_576, 8192, ALL],
  ["gemini-2.5-flash", 1_048_576, 65_536, ALL],
  ["gemini-2.5-pro", 1_048_576, 65_536, ALL],
  ["gemini-3-pro", 1_048_576, 65_536, ALL],
  ["deepseek-chat", 131_072, 8192, TEXT],
  ["deepseek-reasoner", 131_072, 65_536, TEXT],
  ["grok-3", 131_072, 131_072, TEXT],
  ["grok-4", 256_000, 256_000, SEES],
  ["llama-3.1", 131_072, 8192, TEXT],
  ["llama-3.3", 131_072, 32_768, TEXT],
];

export interface TableEntry {
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly modalities: { readonly input: readonly Modality[]; readonly output: readonly Modality[] };
}

/** What the table has on an upstream model name, by the longest beginning that fits. A gateway's `vendor/` in front is passed over. */
export function tableCapabilities(upstreamModel: string): TableEntry | undefined {
  const name = upstreamModel.slice(upstreamModel.lastIndexOf("/") + 1).toLowerCase();
  const rows = TABLE.filter(([prefix]) => name.startsWith(prefix)).sort((a, b) => b[0].length - a[0].length);
  const [row] = rows;
  if (row === undefined) return undefined;
  const [, contextWindow, maxOutputTokens, input] = row;
  return { contextWindow, maxOutputTokens, modalities: { input, output: TEXT } };
}
