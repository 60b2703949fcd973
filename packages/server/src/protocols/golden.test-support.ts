import { readdirSync, readFileSync } from "node:fs";
import type { AgentEvent, Message } from "@awaken/contract";

/** A run as whoever follows it sees it: the events of every activation, and the log of the thread afterwards. */
export interface GoldenLog {
  readonly name: string;
  readonly activations: readonly (readonly AgentEvent[])[];
  readonly messages: readonly Message[];
}

const folder = new URL("../../../contract/golden/", import.meta.url);

export const goldenLogs: readonly GoldenLog[] = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .map((file) => ({ name: file.slice(0, -".json".length), ...JSON.parse(readFileSync(new URL(file, folder), "utf8")) }));

export function goldenLog(name: string): GoldenLog {
  const log = goldenLogs.find((each) => each.name === name);
  if (log === undefined) throw new Error(`there is no golden log '${name}'`);
  return log;
}
