import { Door } from "../stream/door.ts";

/** Without a store no effects are kept: what counts them is loaded with the first run that has one. */
export const ledgers = new Door(() => import("./run-ledger.ts"));
