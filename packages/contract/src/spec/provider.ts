import * as s from "../schema/all.ts";
import { Secret } from "../secret.ts";
import { isMask, jsonValue, MASKED, nonBlank, positive, specId } from "./fields.ts";
import type { Immutable } from "./immutable.ts";
import { checkSchema, parseSpec, readSpec } from "./parse.ts";

export const MODEL_DISCOVERY_SCHEMAS = ["openai", "openai-compatible", "openrouter", "gemini", "google"] as const;
export const MODEL_DISCOVERY_AUTHS = [
  "bearer",
  "authorization-bearer",
  "x-goog-api-key",
  "google-api-key",
  "gemini-api-key",
  "none",
  "no-auth",
  "disabled",
] as const;
export const CREDENTIALS_KINDS = ["bearer", "service-account-json"] as const;

const TIMEOUT_SECS = 300;

const anyCase = <const Values extends readonly string[]>(values: Values) =>
  s.pipe(s.string().check(s.trim(), s.toLowerCase()), s.enum(values));

/** Not secret. What is not named here is for the adapter, which ignores what it does not know. */
const adapterOptions = s.openObject(
  {
    /** The form of the vendor's list of models. */
    modelDiscoverySchema: s.exactOptional(anyCase(MODEL_DISCOVERY_SCHEMAS)),
    /** How the list of models is asked for. */
    modelDiscoveryAuth: s.exactOptional(anyCase(MODEL_DISCOVERY_AUTHS)),
    /** What `apiKey` is: a token, or the JSON of a service account. */
    credentialsKind: s.exactOptional(s.enum(CREDENTIALS_KINDS)),
    /** Whether the vendor's package may look for credentials in the environment. */
    allowEnvCredentials: s.exactOptional(s.boolean()),
  },
  jsonValue,
);

/** A blank text or null means that there is none. */
const textOrNone = s.exactOptional(s.nullable(s.string().check(s.trim())));
const keyOrNone: s.Type<string | null, string | Secret | null> = s.nullable(s.string());

const fields = {
  /** The name that models use. */
  id: specId,
  /** Which vendor package talks to it: `openai`, `anthropic`, … */
  adapter: nonBlank,
  apiKey: s.exactOptional(keyOrNone),
  baseUrl: textOrNone,
  /** How long a request may take. Default 300. */
  timeoutSecs: s.withDefault(positive, TIMEOUT_SECS),
  /** Settings of the adapter; nothing secret belongs here. */
  adapterOptions: s.withDefault(adapterOptions, {}),
};

interface RawProvider {
  readonly adapter: string;
  readonly apiKey?: string | null;
  readonly baseUrl?: string | null;
  readonly adapterOptions: s.output<typeof adapterOptions>;
}

function checkCredentials({ adapter, apiKey, adapterOptions: options }: RawProvider, report: (issue: s.Issue) => void): void {
  if (isMask(apiKey ?? "")) report(s.problem(MASKED, ["apiKey"]));
  if (options.credentialsKind === "service-account-json" && adapter !== "vertex") {
    const path = ["adapterOptions", "credentialsKind"];
    report(s.problem(`is for adapter 'vertex', got adapter '${adapter.slice(0, 80)}'`, path));
  }
}

function dropBlank<T extends RawProvider>({ apiKey, baseUrl, ...rest }: T) {
  const key: {
    /** Masked in records and logs; absent when the adapter finds its own. */
    apiKey?: Secret;
  } = apiKey?.trim() ? { apiKey: new Secret(apiKey) } : {};
  const url: {
    /** Another address than the vendor's. */
    baseUrl?: string;
  } = baseUrl ? { baseUrl } : {};
  return { ...rest, ...key, ...url };
}

/** A model API and how to reach it. */
export const providerSpecSchema = s.transform(s.strictObject(fields).check(s.rule(checkCredentials)), dropBlank);
const storedProviderSchema = s.transform(s.object(fields).check(s.rule(checkCredentials)), dropBlank);

export interface ProviderSpec extends Immutable<s.output<typeof providerSpecSchema>> {}

/** What somebody writes: unknown fields are refused. */
export const parseProviderSpec = (id: string, input: unknown): ProviderSpec => parseSpec("provider", id, providerSpecSchema, input);

/** What was stored, perhaps by another version: unknown fields are dropped. */
export function decodeProviderSpec(id: string, input: unknown): ProviderSpec {
  const place = { kind: "provider", id };
  return checkSchema(place, storedProviderSchema, readSpec(place, input));
}
