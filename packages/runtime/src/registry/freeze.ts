import { freezeJson } from "@awaken/contract";

/** Frozen to the bottom: a spec of ours, or what was copied for us. */
export function freezeDeep<T extends object>(value: T): T {
  freezeJson(value);
  return value;
}
