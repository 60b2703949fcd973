import { storeConformance } from "../conformance/index.ts";
import { hooks, openTestStore } from "./test-store.ts";

storeConformance("postgres", (clock) => openTestStore({ clock }), hooks);
