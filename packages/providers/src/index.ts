export { VENDOR_ADAPTERS, type VendorAdapter, type VendorSettings } from "./adapters.ts";
export { type AiSdkModel, type AiSdkProvider, type AiSdkSource, isAiSdkSource } from "./ai-sdk-source.ts";
export { type AiSdkOptions, fromAiSdk } from "./from-ai-sdk.ts";
export { providerFromSpec, type SpecOptions } from "./from-spec.ts";
export { cleanSchema } from "./request/clean-schema.ts";
