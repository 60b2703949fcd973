import { serve } from "@awaken/server";
import { openStore } from "../durability/support/place.ts";
import { quiet } from "../relay/support/speaker.ts";
import type { ServerOrder } from "../server/server-process.ts";
import { openAgent } from "./support/agent.ts";

// The agent for pages in a process of its own, which can be killed.

const order: ServerOrder & { readonly journal: string } = JSON.parse(process.argv[2] ?? "{}");
const store = await openStore(order.place);
const runtime = openAgent(store, { journal: order.journal, workers: true, leaseMs: 1_000 });
const server = await serve({ runtime, port: order.port, log: quiet });
// Whoever started it is gone.
process.on("disconnect", () => process.exit(1));
process.send?.({ url: server.url, port: server.port });
