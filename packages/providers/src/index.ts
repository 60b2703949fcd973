// Public: what a caller hands in.
export type { VendorAdapter } from "./adapters.ts";
export { VENDOR_ADAPTERS } from "./adapters.ts";
export { type AiSdkModel, type AiSdkProvider, type AiSdkSource, isAiSdkSource } from "./ai-sdk-source.ts";
export { type AiSdkOptions, fromAiSdk } from "./from-ai-sdk.ts";
export { providerFromSpec } from "./from-spec.ts";
