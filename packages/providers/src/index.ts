export { VENDOR_ADAPTERS, type VendorAdapter } from "./adapters.ts";
export { type AiSdkModel, type AiSdkProvider, type AiSdkSource, isAiSdkSource } from "./ai-sdk-source.ts";
export { type AiSdkOptions, fromAiSdk } from "./from-ai-sdk.ts";
export { providerFromSpec } from "./from-spec.ts";
