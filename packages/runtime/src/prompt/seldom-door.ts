import { withSchemas } from "../state/late-schema.ts";
import { Door } from "../stream/door.ts";

/** Needed by steps that somebody changed, by agents with a context policy, and where a model refuses a request as too long. */
export const seldom = new Door(() => withSchemas(() => import("./seldom.ts")));
