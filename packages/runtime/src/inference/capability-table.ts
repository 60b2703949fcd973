/** Beginning of the upstream name, window, and longest answer. What vendors publish; only a guess for any one endpoint. */
const TABLE: readonly (readonly [prefix: string, contextWindow: number, maxOutputTokens: number])[] = [
  ["gpt-3.5-turbo", 16_385, 4096],
  ["gpt-4-turbo", 128_000, 4096],
  ["gpt-4o", 128_000, 16_384],
  ["gpt-4.1", 1_047_576, 32_768],
  ["gpt-5", 400_000, 128_000],
  ["gpt-5-chat", 128_000, 16_384],
  ["gpt-oss", 131_072, 131_072],
  ["o1", 200_000, 100_000],
  ["o1-mini", 128_000, 65_536],
  ["o3", 200_000, 100_000],
  ["o3-mini", 200_000, 100_000],
  ["o4-mini", 200_000, 100_000],
  ["claude-3-haiku", 200_000, 4096],
  ["claude-3-opus", 200_000, 4096],
  ["claude-3-5-haiku", 200_000, 8192],
  ["claude-3-5-sonnet", 200_000, 8192],
  ["claude-3-7-sonnet", 200_000, 64_000],
  ["claude-haiku-4", 200_000, 64_000],
  ["claude-sonnet-4", 200_000, 64_000],
  ["claude-opus-4", 200_000, 32_000],
  ["claude-opus-4-5", 200_000, 64_000],
  ["gemini-1.5-flash", 1_048_576, 8192],
  ["gemini-1.5-pro", 2_097_152, 8192],
  ["gemini-2.0-flash", 1_048_576, 8192],
  ["gemini-2.5-flash", 1_048_576, 65_536],
  ["gemini-2.5-pro", 1_048_576, 65_536],
  ["gemini-3-pro", 1_048_576, 65_536],
  ["deepseek-chat", 131_072, 8192],
  ["deepseek-reasoner", 131_072, 65_536],
  ["grok-3", 131_072, 131_072],
  ["grok-4", 256_000, 256_000],
  ["llama-3.1", 131_072, 8192],
  ["llama-3.3", 131_072, 32_768],
];

export interface TableEntry {
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
}

/** What the table has on an upstream model name, by the longest beginning that fits. A gateway's `vendor/` in front is passed over. */
export function tableCapabilities(upstreamModel: string): TableEntry | undefined {
  const name = upstreamModel.slice(upstreamModel.lastIndexOf("/") + 1).toLowerCase();
  const rows = TABLE.filter(([prefix]) => name.startsWith(prefix)).sort((a, b) => b[0].length - a[0].length);
  const [row] = rows;
  if (row === undefined) return undefined;
  const [, contextWindow, maxOutputTokens] = row;
  return { contextWindow, maxOutputTokens };
}
