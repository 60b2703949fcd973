import { serve } from "@awaken/server";
import { createAdaptorServer } from "@hono/node-server";
import { openRuntime, type Place } from "./ours.ts";
import { openPeer, PEERS, type PeerName } from "./peers.ts";

// One server in a process of its own. It says its port, and on request how much it holds.

const isPeer = (name: string): name is PeerName => name in PEERS;

async function listen(name: string, place: Place): Promise<number> {
  if (!isPeer(name)) return (await serve({ runtime: openRuntime(place), port: 0 })).port;
  const node = createAdaptorServer({ fetch: openPeer(name).fetch });
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  const address = node.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function held(): number {
  for (let round = 0; round < 3; round++) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const [name = "", place = "{}"] = process.argv.slice(2);
const cpuUs = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};
process.on("message", (asked) => process.send?.(asked === "cpu" ? { cpu: cpuUs() } : { held: held() }));
process.on("disconnect", () => process.exit(0));
process.send?.({ port: await listen(name, JSON.parse(place)) });
