import { Door } from "../stream/door.ts";

/** The ledger of a run is loaded with the first run that has a store: without one no effects are kept. */
export const ledgers = new Door(() => import("./run-ledger.ts"));
