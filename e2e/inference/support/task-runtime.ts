import type { JsonObject, Log } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import type { AiSdkOptions } from "@awaken/providers";
import { type Clock, createRuntime, type Runtime, type Tool } from "@awaken/runtime";
import { VENDOR_NAMES, VENDORS } from "./vendors.ts";

export interface TaskRuntimeInit {
  readonly url: string;
  readonly store: Store;
  readonly tools: readonly Tool[];
  readonly retry: JsonObject;
  readonly options?: AiSdkOptions;
  readonly clock?: Clock;
}

export const SILENT: Log = { warn() {}, error() {} };

/** One agent per vendor, under the vendor's name, all at one address. */
export function openTaskRuntime({ url, store, tools, retry, options, clock }: TaskRuntimeInit): Runtime {
  return createRuntime({
    providers: Object.fromEntries(VENDOR_NAMES.map((name) => [name, VENDORS[name].provider({ url }, { name, ...options })])),
    models: Object.fromEntries(VENDOR_NAMES.map((name) => [name, { provider: name, model: VENDORS[name].model }])),
    agents: Object.fromEntries(VENDOR_NAMES.map((name) => [name, { model: name, instructions: "Reserve.", sections: { retry } }])),
    tools,
    store,
    log: SILENT,
    ...(clock !== undefined && { clock }),
  });
}
