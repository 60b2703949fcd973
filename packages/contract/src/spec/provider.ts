import * as z from "zod";
import { Secret } from "../secret.ts";
import { problem } from "./describe-issues.ts";
import { isMask, jsonValue, MASKED, nonBlank, positive, specId } from "./fields.ts";
import type { Immutable, SpecInput } from "./immutable.ts";
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

const anyCase = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.string().trim().toLowerCase().pipe(z.enum(values));

/** Not secret. What is not named here is for the adapter, which ignores what it does not know. */
const adapterOptions = z
  .object({
    modelDiscoverySchema: anyCase(MODEL_DISCOVERY_SCHEMAS).exactOptional(),
    modelDiscoveryAuth: anyCase(MODEL_DISCOVERY_AUTHS).exactOptional(),
    credentialsKind: z.enum(CREDENTIALS_KINDS).exactOptional(),
    allowEnvCredentials: z.boolean().exactOptional(),
  })
  .catchall(jsonValue);

/** A blank text or null means that there is none. */
const textOrNone = z.string().trim().nullable().exactOptional();
const keyOrNone: z.ZodType<string | null, string | Secret | null> = z.string().nullable();

const fields = {
  id: specId,
  adapter: nonBlank,
  apiKey: keyOrNone.exactOptional(),
  baseUrl: textOrNone,
  timeoutSecs: positive.default(TIMEOUT_SECS),
  adapterOptions: adapterOptions.prefault({}),
};

interface RawProvider {
  readonly adapter: string;
  readonly apiKey?: string | null;
  readonly baseUrl?: string | null;
  readonly adapterOptions: z.output<typeof adapterOptions>;
}

function checkCredentials({ adapter, apiKey, adapterOptions: options }: RawProvider, ctx: z.RefinementCtx): void {
  if (isMask(apiKey ?? "")) ctx.addIssue({ ...problem(MASKED), path: ["apiKey"] });
  if (options.credentialsKind === "service-account-json" && adapter !== "vertex") {
    const path = ["adapterOptions", "credentialsKind"];
    ctx.addIssue({ ...problem(`is for adapter 'vertex', got adapter '${adapter.slice(0, 80)}'`), path });
  }
}

function dropBlank<T extends RawProvider>({ apiKey, baseUrl, ...rest }: T) {
  const key: { apiKey?: Secret } = apiKey?.trim() ? { apiKey: new Secret(apiKey) } : {};
  const url: { baseUrl?: string } = baseUrl ? { baseUrl } : {};
  return { ...rest, ...key, ...url };
}

/** A model API and how to reach it. */
export const providerSpecSchema = z.strictObject(fields).superRefine(checkCredentials).transform(dropBlank);
const storedProviderSchema = z.object(fields).superRefine(checkCredentials).transform(dropBlank);

export interface ProviderSpec extends Immutable<z.output<typeof providerSpecSchema>> {}
export type ProviderSpecInput = SpecInput<z.input<typeof providerSpecSchema>>;

/** What somebody writes: unknown fields are refused. */
export const parseProviderSpec = (id: string, input: unknown): ProviderSpec => parseSpec("provider", id, providerSpecSchema, input);

/** What was stored, perhaps by another version: unknown fields are dropped. */
export function decodeProviderSpec(id: string, input: unknown): ProviderSpec {
  const place = { kind: "provider", id };
  return checkSchema(place, storedProviderSchema, readSpec(place, input));
}
