import { join } from "node:path";

/** Queues and workflow engines on PostgreSQL that runs through the mailbox are compared with, at the versions that the table speaks of. */
export const QUEUES = {
  name: "queues",
  dependencies: { "@dbos-inc/dbos-sdk": "5.3.0", "graphile-worker": "0.18.0" },
} as const;

/** What plays them. */
export const ADAPTER = join(import.meta.dirname, "peers", "queues.mjs");
