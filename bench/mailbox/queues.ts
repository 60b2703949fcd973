import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { importFromPeer } from "../field/peer-imports.ts";
import { ADAPTER, QUEUES } from "./peer-list.ts";

// One process for the queues of others: url of the server, how many jobs, how many workflows. Sends what it measured.

export interface QueueFigures {
  readonly graphile: number;
  readonly direct: number;
  readonly queued: number;
}

interface Adapter {
  graphileWorker(url: string, count: number): Promise<number>;
  dbos(url: string, count: number): Promise<{ readonly direct: number; readonly queued: number }>;
}

const [, , url = "", jobs = "", flows = ""] = process.argv;
importFromPeer(QUEUES.name, dirname(ADAPTER));
const adapter: Adapter = await import(pathToFileURL(ADAPTER).href);
const graphile = await adapter.graphileWorker(url, Number(jobs));
const figures: QueueFigures = { graphile, ...(await adapter.dbos(url, Number(flows))) };
process.send?.(figures, () => process.exit(0));
