import { queueConformance, storeConformance } from "../conformance/index.ts";
import { sqliteStore } from "./store.ts";
import { hooks, openTestStore } from "./test-store.ts";

storeConformance("sqlite", (clock) => openTestStore({ clock }), hooks);
queueConformance("sqlite", (clock) => openTestStore({ clock }), hooks);
storeConformance("sqlite in memory", (clock) => sqliteStore(":memory:", { clock }), { reopen: "never" });
queueConformance("sqlite in memory", (clock) => sqliteStore(":memory:", { clock }), { reopen: "never" });
