import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import type { Provider } from "@awaken/contract";
import { type AiSdkOptions, fromAiSdk } from "@awaken/providers";

export const VENDOR_NAMES = ["openai", "anthropic", "google"] as const;
export type VendorName = (typeof VENDOR_NAMES)[number];

export interface Account {
  readonly url: string;
  readonly apiKey?: string;
}

export interface Vendor {
  readonly name: VendorName;
  readonly model: string;
  /** Where its API begins. */
  readonly path: string;
  /** A provider over the vendor's own package. */
  provider(account: Account, options?: AiSdkOptions): Provider;
}

const KEY = "key-of-the-loopback";

export const VENDORS: Readonly<Record<VendorName, Vendor>> = {
  openai: {
    name: "openai",
    model: "gpt-5-mini",
    path: "/v1",
    provider: ({ url, apiKey = KEY }, options) => fromAiSdk(createOpenAI({ apiKey, baseURL: `${url}/v1` }), options),
  },
  anthropic: {
    name: "anthropic",
    model: "claude-sonnet-4-5",
    path: "/v1",
    provider: ({ url, apiKey = KEY }, options) => fromAiSdk(createAnthropic({ apiKey, baseURL: `${url}/v1` }), options),
  },
  google: {
    name: "google",
    model: "gemini-2.5-flash",
    path: "/v1beta",
    provider: ({ url, apiKey = KEY }, options) => fromAiSdk(createGoogle({ apiKey, baseURL: `${url}/v1beta` }), options),
  },
};

/** Whose wire a request is, by its path. */
export function vendorOfPath(path: string): VendorName {
  if (path.startsWith("/v1beta/")) return "google";
  return path.startsWith("/v1/messages") ? "anthropic" : "openai";
}
