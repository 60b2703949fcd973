import { createRuntime } from "@awaken/runtime";
import { thisNode } from "awaken";
import { runtimeInit } from "../chaos/support/agent.ts";
import { World } from "../chaos/support/world.ts";
import { openStore, type Place } from "../durability/support/place.ts";

// A node that starts, and takes up what it finds until it is killed.

const { place, folder }: { readonly place: Place; readonly folder: string } = JSON.parse(process.argv[2] ?? "{}");
const runtime = createRuntime({
  ...runtimeInit(new World(folder)),
  store: await openStore(place),
  node: thisNode(),
  workers: true,
  log: { warn() {}, error() {} },
});
await runtime.recover();
