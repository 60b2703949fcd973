import { appendFileSync } from "node:fs";
import { serve } from "@awaken/server";
import { openStore, type Place } from "../durability/support/place.ts";
import { openNode, quiet } from "../relay/support/speaker.ts";

// A server of its own process: it says where it listens, and leaves in peace when it is told to.

export interface ServerOrder {
  readonly place: Place;
  readonly port: number;
  /** A file that tools write a line to when they do something. */
  readonly journal?: string;
}

const order: ServerOrder = JSON.parse(process.argv[2] ?? "{}");
const store = await openStore(order.place);
const { journal } = order;
const runtime = openNode(store, { workers: true, leaseMs: 1_000 }, (line) => {
  if (journal !== undefined) appendFileSync(journal, `${line}\n`);
});
const server = await serve({ runtime, port: order.port, log: quiet });
process.on("SIGTERM", async () => {
  await server.close();
  await store.close();
  process.exit(0);
});
// Whoever started it is gone.
process.on("disconnect", () => process.exit(1));
process.send?.({ url: server.url, port: server.port });
