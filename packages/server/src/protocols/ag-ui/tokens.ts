import type { Usage } from "@awaken/contract";
import type { ModelTokens } from "./frame.ts";

/** What the inferences of one activation used, by provider and model. */
export class Tokens {
  readonly #byModel = new Map<string, ModelTokens>();

  clear(): void {
    this.#byModel.clear();
  }

  add(provider: string, model: string, usage: Usage): void {
    const key = `${provider}\n${model}`;
    const before = this.#byModel.get(key);
    const sum = (name: "inputTokens" | "outputTokens" | "totalTokens", more: number) => (before?.[name] ?? 0) + more;
    const part = (had: number | undefined, more: number | undefined) =>
      had === undefined && more === undefined ? undefined : (had ?? 0) + (more ?? 0);
    const reasoningTokens = part(before?.reasoningTokens, usage.reasoningTokens);
    const cachedInputTokens = part(before?.cachedInputTokens, usage.cacheReadTokens);
    const cacheWriteInputTokens = part(before?.cacheWriteInputTokens, usage.cacheWriteTokens);
    this.#byModel.set(key, {
      provider,
      model,
      inputTokens: sum("inputTokens", usage.inputTokens),
      outputTokens: sum("outputTokens", usage.outputTokens),
      totalTokens: sum("totalTokens", usage.totalTokens),
      ...(reasoningTokens === undefined ? undefined : { reasoningTokens }),
      ...(cachedInputTokens === undefined ? undefined : { cachedInputTokens }),
      ...(cacheWriteInputTokens === undefined ? undefined : { cacheWriteInputTokens }),
    });
  }

  get list(): { readonly usage?: readonly ModelTokens[] } {
    return this.#byModel.size === 0 ? {} : { usage: [...this.#byModel.values()] };
  }
}
