import { AwakenError, isJsonObject, type JsonObject, type Provider } from "@awaken/contract";
import type { ProviderSpec } from "@awaken/contract/spec";
import { VENDOR_ADAPTERS, type VendorAdapter, type VendorSettings } from "./adapters.ts";
import type { AiSdkProvider } from "./ai-sdk-source.ts";
import { classify } from "./classify.ts";
import { fromAiSdk } from "./from-ai-sdk.ts";
import { headerSecrets } from "./model-secrets.ts";
import type { Headers } from "./request/to-options.ts";
import { createScrub, toSafeCause } from "./scrub.ts";

export interface SpecOptions {
  /** More vendors, or others for the same names; by the spec's `adapter`. */
  readonly adapters?: Readonly<Record<string, VendorAdapter>>;
}

function fail(spec: ProviderSpec, problem: string): never {
  throw new AwakenError("invalid_spec", `provider '${spec.id}': ${problem}`, { details: { providerId: spec.id, adapter: spec.adapter } });
}

function readHeaders(spec: ProviderSpec): Headers {
  const { headers = {} }: JsonObject = spec.adapterOptions;
  if (!isJsonObject(headers)) return fail(spec, "adapterOptions.headers must be an object of texts");
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (typeof value !== "string") return fail(spec, `header '${name}' must be a text`);
      return [name, value];
    }),
  );
}

function findAdapter(spec: ProviderSpec, adapters: Readonly<Record<string, VendorAdapter>>): VendorAdapter {
  const adapter = Object.hasOwn(adapters, spec.adapter) ? adapters[spec.adapter] : undefined;
  return adapter ?? fail(spec, `unknown adapter '${spec.adapter}'; known are ${Object.keys(adapters).join(", ")}`);
}

/** Fails closed: a key from the environment is used only when the spec allows it. */
function checkSpec(spec: ProviderSpec, adapter: VendorAdapter): void {
  if (spec.apiKey === undefined && spec.adapterOptions.allowEnvCredentials !== true) {
    fail(spec, "has no apiKey, and adapterOptions.allowEnvCredentials is not set");
  }
  if (adapter.needsBaseUrl === true && spec.baseUrl === undefined) fail(spec, `adapter '${spec.adapter}' needs a baseUrl`);
}

/** The key is read here and nowhere else, once per call; nothing that outlives the call holds it. */
function readSettings(spec: ProviderSpec, headers: Headers): VendorSettings {
  const options: JsonObject = spec.adapterOptions;
  return {
    name: spec.id,
    headers,
    options,
    ...(spec.apiKey !== undefined && { apiKey: spec.apiKey.reveal() }),
    ...(spec.baseUrl !== undefined && { baseUrl: spec.baseUrl }),
  };
}

function findSecrets({ apiKey, headers }: VendorSettings, { keyVariable }: VendorAdapter): string[] {
  const key = apiKey ?? (keyVariable === undefined ? undefined : globalThis.process?.env[keyVariable]);
  return [...(key === undefined ? [] : [key]), ...headerSecrets(headers)];
}

const isMissingModule = (thrown: unknown): boolean =>
  thrown instanceof Error && "code" in thrown && (thrown.code === "ERR_MODULE_NOT_FOUND" || thrown.code === "MODULE_NOT_FOUND");

async function openVendor(adapter: VendorAdapter, settings: VendorSettings, secrets: readonly string[]): Promise<AiSdkProvider> {
  const scrub = createScrub(secrets);
  try {
    return await adapter.open(settings);
  } catch (thrown) {
    if (!isMissingModule(thrown)) throw classify(thrown, scrub);
    const { npmPackage } = adapter;
    throw new AwakenError(
      "provider_unavailable",
      `provider '${settings.name}' needs the package ${npmPackage}: npm install ${npmPackage}`,
      {
        details: { providerId: settings.name, npmPackage },
        cause: toSafeCause(thrown, scrub),
      },
    );
  }
}

/** A provider from its record. The vendor package is loaded at the first call; a bad record fails here. */
export function providerFromSpec(spec: ProviderSpec, { adapters = VENDOR_ADAPTERS }: SpecOptions = {}): Provider {
  const adapter = findAdapter(spec, adapters);
  checkSpec(spec, adapter);
  const headers = readHeaders(spec);
  const timeoutMs = spec.timeoutSecs * 1000;
  return {
    name: spec.id,
    async stream(request, options) {
      const settings = readSettings(spec, headers);
      const secrets = findSecrets(settings, adapter);
      const vendor = await openVendor(adapter, settings, secrets);
      return fromAiSdk(vendor, { name: spec.id, timeoutMs, secrets }).stream(request, options);
    },
  };
}
