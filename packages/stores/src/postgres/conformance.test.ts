import { queueConformance, storeConformance } from "../conformance/index.ts";
import { hooks, openTestStore } from "./test-store.ts";

storeConformance("postgres", (clock) => openTestStore({ clock }), hooks);
queueConformance("postgres", (clock) => openTestStore({ clock }), hooks);
