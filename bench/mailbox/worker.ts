import { openRuntime, openStore, type Place } from "./agent.ts";

// Takes up what waits in the queue from the moment at which it is told to, until it is told to end.

const place: Place = JSON.parse(process.argv[2] ?? "");
const store = openStore(place);
await store.stats();
let close = () => store.close();
process.on("disconnect", () => process.exit(1));
process.on("message", async (command: "go" | "end") => {
  if (command === "end") {
    await close();
    process.exit(0);
  }
  const runtime = openRuntime(store, true);
  close = async () => {
    await runtime.close();
    await store.close();
  };
});
process.send?.("ready");
