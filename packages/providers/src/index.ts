export { VENDOR_ADAPTERS, type VendorAdapter, type VendorSettings } from "./adapters.ts";
export { type AiSdkModel, type AiSdkOptions, type AiSdkProvider, type AiSdkSource, fromAiSdk, isAiSdkSource } from "./from-ai-sdk.ts";
export { providerFromSpec, type SpecOptions } from "./from-spec.ts";
export { cleanSchema } from "./request/clean-schema.ts";
