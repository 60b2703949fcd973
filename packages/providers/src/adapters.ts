import { isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";
import type { AiSdkProvider } from "./ai-sdk-source.ts";
import type { Headers } from "./request/to-options.ts";

/** What a spec record says, for the vendor package. */
export interface VendorSettings {
  /** The provider's id. */
  readonly name: string;
  /** Absent when the package shall take its credentials from the environment. */
  readonly apiKey?: string;
  /** Another address than the vendor's. */
  readonly baseUrl?: string;
  /** Sent with every request. */
  readonly headers: Headers;
  /** The spec's `adapterOptions`. */
  readonly options: JsonObject;
}

/** How a spec's `adapter` becomes a provider. `open` imports the vendor package, which need not be installed. */
export interface VendorAdapter {
  /** What has to be installed. */
  readonly npmPackage: string;
  /** Where the package looks for its key. */
  readonly keyVariable?: string;
  /** There is no default address. */
  readonly needsBaseUrl?: boolean;
  /** Imports the package; throws when it is not installed. */
  open(settings: VendorSettings): Promise<AiSdkProvider>;
}

interface Shared {
  readonly headers: Record<string, string>;
  readonly apiKey?: string;
  readonly baseURL?: string;
}

const shared = ({ apiKey, baseUrl, headers }: VendorSettings): Shared => ({
  headers: { ...headers },
  ...(apiKey !== undefined && { apiKey }),
  ...(baseUrl !== undefined && { baseURL: baseUrl }),
});

function texts(value: JsonValue | undefined): Record<string, string> {
  if (value === undefined || !isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

const openai: VendorAdapter = {
  npmPackage: "@ai-sdk/openai",
  keyVariable: "OPENAI_API_KEY",
  async open(settings) {
    const { createOpenAI } = await import("@ai-sdk/openai");
    const { organization, project } = settings.options;
    return createOpenAI({
      ...shared(settings),
      ...(typeof organization === "string" && { organization }),
      ...(typeof project === "string" && { project }),
    });
  },
};

const anthropic: VendorAdapter = {
  npmPackage: "@ai-sdk/anthropic",
  keyVariable: "ANTHROPIC_API_KEY",
  async open(settings) {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    return createAnthropic(shared(settings));
  },
};

const google: VendorAdapter = {
  npmPackage: "@ai-sdk/google",
  keyVariable: "GOOGLE_GENERATIVE_AI_API_KEY",
  async open(settings) {
    const { createGoogle } = await import("@ai-sdk/google");
    return createGoogle(shared(settings));
  },
};

const openaiCompatible: VendorAdapter = {
  npmPackage: "@ai-sdk/openai-compatible",
  needsBaseUrl: true,
  async open(settings) {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    const { queryParams, supportsStructuredOutputs, supportsMultiPartToolContent } = settings.options;
    return createOpenAICompatible({
      ...shared(settings),
      name: settings.name,
      baseURL: settings.baseUrl ?? "",
      queryParams: texts(queryParams),
      includeUsage: true,
      supportsStructuredOutputs: supportsStructuredOutputs === true,
      supportsMultiPartToolContent: supportsMultiPartToolContent === true,
    });
  },
};

export const VENDOR_ADAPTERS: Readonly<Record<string, VendorAdapter>> = {
  openai,
  anthropic,
  google,
  "openai-compatible": openaiCompatible,
};
