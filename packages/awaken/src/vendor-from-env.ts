import { AwakenError } from "@awaken/contract";
import { fromAiSdk, VENDOR_ADAPTERS } from "@awaken/providers";
import type { AnyProvider } from "./to-provider.ts";

/** The vendors that are looked for in the environment, in this order. */
export const VENDORS = ["openai", "anthropic", "google"] as const;
export type Vendor = (typeof VENDORS)[number];

/** Small and quick ones: an explicit choice is `models`, or AWAKEN_MODEL. */
const DEFAULT_MODELS: Readonly<Record<Vendor, string>> = {
  openai: "gpt-5-mini",
  anthropic: "claude-haiku-4-5",
  google: "gemini-2.5-flash",
};

export interface VendorChoice {
  /** Whose key was found; `demo` when there was none. */
  readonly vendor: Vendor | "demo";
  /** For `providers` of the config. */
  readonly provider: AnyProvider;
  /** The vendor's name of the model, for `models` of the config. */
  readonly model: string;
}

export interface VendorOptions {
  /** Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The model of each vendor, where it shall not be the default one. */
  readonly models?: Partial<Readonly<Record<Vendor, string>>>;
  /**
   * What to do when a key is there and its `@ai-sdk` package is not installed. `otherwise` takes what needs no key, and warns. A vendor
   * that AWAKEN_MODEL names is never replaced. Default: `refuse`.
   */
  readonly whenNotInstalled?: "refuse" | "otherwise";
  /** Used when the environment has no key. */
  readonly otherwise: {
    /** What answers instead, mostly a model that needs no key. */
    readonly provider: AnyProvider;
    /** The name of its model. */
    readonly model: string;
  };
}

interface Wanted {
  readonly vendor: Vendor;
  readonly model: string;
  readonly apiKey: string;
}

const refuse = (why: string): never => {
  throw new AwakenError("config_validation_failed", why);
};

/** The package of a vendor, and where its key is looked for. */
export function vendorFacts(vendor: Vendor): { readonly npmPackage: string; readonly keyVariable: string } {
  const adapter = VENDOR_ADAPTERS[vendor];
  return { npmPackage: adapter?.npmPackage ?? `@ai-sdk/${vendor}`, keyVariable: adapter?.keyVariable ?? "" };
}

const isVendor = (name: string): name is Vendor => VENDORS.some((vendor) => vendor === name);

const readKey = (vendor: Vendor, env: NonNullable<VendorOptions["env"]>): string => env[vendorFacts(vendor).keyVariable]?.trim() ?? "";

/** `vendor/model`, or `demo` for the model that needs no key. */
function readChosen(chosen: string, { env = process.env, models = {} }: VendorOptions): Wanted | undefined {
  if (chosen === "demo") return undefined;
  const [name = "", ...rest] = chosen.split("/");
  if (!isVendor(name)) {
    return refuse(`AWAKEN_MODEL is '${chosen}': expected demo, or one of ${VENDORS.join(", ")} with a model, like openai/gpt-5-mini`);
  }
  const apiKey = readKey(name, env);
  if (apiKey === "") return refuse(`AWAKEN_MODEL asks for ${name}, and ${vendorFacts(name).keyVariable} is not set`);
  return { vendor: name, model: rest.join("/") || (models[name] ?? DEFAULT_MODELS[name]), apiKey };
}

function findWanted(options: VendorOptions): Wanted | undefined {
  const { env = process.env, models = {} } = options;
  const chosen = env["AWAKEN_MODEL"]?.trim() ?? "";
  if (chosen !== "") return readChosen(chosen, options);
  const vendor = VENDORS.find((name) => readKey(name, env) !== "");
  return vendor === undefined ? undefined : { vendor, model: models[vendor] ?? DEFAULT_MODELS[vendor], apiKey: readKey(vendor, env) };
}

const isMissingPackage = (thrown: unknown, name: string): boolean =>
  thrown instanceof Error && "code" in thrown && thrown.code === "ERR_MODULE_NOT_FOUND" && thrown.message.includes(`'${name}'`);

async function openVendor({ vendor, apiKey }: Wanted): Promise<AnyProvider> {
  const { npmPackage, keyVariable } = vendorFacts(vendor);
  try {
    const opened = await VENDOR_ADAPTERS[vendor]?.open({ name: vendor, apiKey, headers: {}, options: {} });
    if (opened !== undefined) return fromAiSdk(opened, { name: vendor, secrets: [apiKey] });
  } catch (cause) {
    if (!isMissingPackage(cause, npmPackage)) throw cause;
    throw new AwakenError("provider_unavailable", `${keyVariable} is set, and ${npmPackage} is not installed: npm install ${npmPackage}`, {
      details: { npmPackage, keyVariable },
      cause,
    });
  }
  return refuse(`there is no adapter for ${vendor}`);
}

const isNotInstalled = (thrown: unknown): thrown is AwakenError =>
  AwakenError.is(thrown) && thrown.code === "provider_unavailable" && typeof thrown.details?.["npmPackage"] === "string";

/**
 * The vendor whose key the environment has: the one that AWAKEN_MODEL names (`openai/gpt-5-mini`), else the first of OPENAI_API_KEY,
 * ANTHROPIC_API_KEY and GOOGLE_GENERATIVE_AI_API_KEY, else `otherwise`. Its `@ai-sdk` package is loaded here and only when it is needed.
 */
export async function vendorFromEnv(options: VendorOptions): Promise<VendorChoice> {
  const wanted = findWanted(options);
  if (wanted === undefined) return { vendor: "demo", ...options.otherwise };
  try {
    return { vendor: wanted.vendor, provider: await openVendor(wanted), model: wanted.model };
  } catch (thrown) {
    const isNamed = ((options.env ?? process.env)["AWAKEN_MODEL"]?.trim() ?? "") !== "";
    if (options.whenNotInstalled !== "otherwise" || isNamed || !isNotInstalled(thrown)) throw thrown;
    console.warn(`${thrown.message}; until then the model ${options.otherwise.model} answers`);
    return { vendor: "demo", ...options.otherwise };
  }
}
