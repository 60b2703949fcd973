import { AwakenError, isJsonObject, type Provider } from "@awaken/contract";
import type { Capabilities } from "../inference/capabilities.ts";
import { type CompletingProvider, deriveStream } from "../inference/derive-stream.ts";
import { freezeDeep } from "./freeze.ts";
import { Table } from "./table.ts";

/** A live provider and what is known about it. */
export interface ProviderEntry {
  /** The model API itself. */
  readonly provider: Provider;
  /** Says what the provider is made of: a pool starts afresh when the signature of a member changes. */
  readonly signature: string;
  /** The family whose model names it speaks, usually the adapter that made it; undefined when nobody said. */
  readonly capabilitySource: string | undefined;
  /** What its own model list said, by normalised model name. */
  readonly discovered: ReadonlyMap<string, Capabilities>;
}

/** A provider with facts about it. Facts that are left out are unknown; the signature is then the provider's name. */
export type ProviderRegistration = Pick<ProviderEntry, "provider"> & Partial<ProviderEntry>;
/** One that answers in one piece is heard as a stream of that piece. */
export type ProviderInput = Provider | CompletingProvider | ProviderRegistration;

/** Model names are written in many ways: `models/Gemini-2.5-pro` and `gemini-2.5-pro` are one. */
export const normalizeModelName = (name: string): string =>
  name
    .trim()
    .replace(/^models\//, "")
    .toLowerCase();

const isNamed = (value: unknown): value is object =>
  typeof value === "object" && value !== null && "name" in value && typeof value.name === "string";

const isProvider = (value: unknown): value is Provider => isNamed(value) && "stream" in value && typeof value.stream === "function";

const isCompleting = (value: unknown): value is CompletingProvider =>
  isNamed(value) && !("stream" in value) && "complete" in value && typeof value.complete === "function";

const isText = (value: unknown): boolean => typeof value === "string";

function copyDiscovered(discovered: ReadonlyMap<string, Capabilities>): Table<Capabilities> {
  const entries = [...discovered].map(([name, known]) => {
    if (!isText(name) || !isJsonObject(known)) throw new TypeError("what is known about a model must be an object, by its name");
    return [normalizeModelName(name), freezeDeep(structuredClone(known))] as const;
  });
  return Table.of(entries);
}

function isRegistration(input: unknown): input is ProviderRegistration {
  return typeof input === "object" && input !== null && "provider" in input && isProvider(input.provider);
}

export function readProvider(id: string, input: unknown): ProviderEntry {
  const given = isProvider(input) ? { provider: input } : isCompleting(input) ? { provider: deriveStream(input) } : input;
  if (!isRegistration(given)) {
    throw new AwakenError(
      "registry_build_failed",
      `registry build failed: provider '${id}' must have a name and a stream function, or a complete function`,
      {
        details: { category: "provider", id },
      },
    );
  }
  const { provider, signature = provider.name, capabilitySource, discovered = new Map() } = given;
  const isKnown = typeof discovered === "object" && discovered !== null && Symbol.iterator in discovered;
  if (!isKnown || !isText(signature) || (capabilitySource !== undefined && !isText(capabilitySource))) {
    const message = `registry build failed: provider '${id}': 'discovered' must be a map, 'signature' and 'capabilitySource' strings`;
    throw new AwakenError("registry_build_failed", message, { details: { category: "provider", id } });
  }
  return Object.freeze({ provider, signature, capabilitySource, discovered: copyDiscovered(discovered) });
}
