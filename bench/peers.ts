import { install, isInstalled } from "./field/install.ts";
import { PEERS } from "./field/peer-list.ts";

// Installs the runtimes that `npm run bench` compares us with: node bench/peers.ts [peer …]

const names = process.argv.slice(2);
const unknown = names.filter((name) => !PEERS.some((peer) => peer.name === name));
if (unknown.length > 0) {
  console.error(`no such peer: ${unknown.join(", ")}; there are ${PEERS.map(({ name }) => name).join(", ")}`);
  process.exit(1);
}
for (const peer of PEERS.filter(({ name }) => names.length === 0 || names.includes(name))) {
  if (isInstalled(peer)) console.log(`${peer.name}: already there`);
  else {
    install(peer);
    console.log(`${peer.name}: installed`);
  }
}
