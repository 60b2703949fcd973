import { storeConformance } from "../conformance/index.ts";
import { memoryStore } from "./index.ts";

storeConformance("memory", (clock) => memoryStore({ clock }));
