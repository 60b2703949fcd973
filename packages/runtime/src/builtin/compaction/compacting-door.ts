import { Door } from "../../stream/door.ts";

/** Most conversations are short: what makes them shorter is loaded with the first that is not. */
export const compacting = new Door(() => import("./compacting.ts"));
