import type { JSONObject, JSONValue } from "@ai-sdk/provider";
import { isJsonObject, type JsonObject, type JsonValue, type ProviderMetadata, toJson } from "@awaken/contract";

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);

/** The SDK's JSON types are mutable, ours are not: it gets a copy. */
export function toSdkJson(value: JsonValue): JSONValue {
  if (isList(value)) return value.map(toSdkJson);
  return isJsonObject(value) ? toSdkObject(value) : value;
}

export function toSdkObject(value: JsonObject): JSONObject {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toSdkJson(item)]));
}

export type SdkMetadata = Record<string, JSONObject>;

/** What a vendor gave beside a part, sent back to it. */
export function toSdkMetadata(metadata: ProviderMetadata | undefined): { providerOptions?: SdkMetadata } {
  if (metadata === undefined) return {};
  return { providerOptions: Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, toSdkObject(value)])) };
}

export function fromSdkMetadata(metadata: SdkMetadata | undefined): ProviderMetadata | undefined {
  if (metadata === undefined) return undefined;
  const entries = Object.entries(metadata).flatMap(([key, value]): [string, JsonObject][] => {
    const json = toJson(value);
    return isJsonObject(json) && Object.keys(json).length > 0 ? [[key, json]] : [];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
