import { withSchemas } from "../state/late-schema.ts";
import { Door } from "../stream/door.ts";

/** Verbs on runs that are on record, and runs that a run starts. */
export const moreRoom = new Door(() => withSchemas(() => import("./more.ts")));
