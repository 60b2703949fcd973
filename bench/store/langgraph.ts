import { join } from "node:path";
import { installedPeers } from "../field/install.ts";
import { importFromPeer } from "../field/peer-imports.ts";

interface Saver {
  /** Bytes of the database after so many steps. */
  storeSteps(steps: number): Promise<number>;
}

/** Bytes that a step leaves in LangGraph's SqliteSaver at each mark, over a window of steps; undefined when it is not installed. */
export async function measureLangGraph(marks: readonly number[], window: number): Promise<readonly number[] | undefined> {
  if (!installedPeers().some(({ name }) => name === "langchain")) return undefined;
  importFromPeer("langchain", join(import.meta.dirname, "peers"));
  const path = "./peers/langgraph.mjs";
  const { storeSteps }: Saver = await import(path);
  const bytes: number[] = [];
  for (const mark of marks) bytes.push(((await storeSteps(mark + window)) - (await storeSteps(mark))) / window);
  return bytes;
}
