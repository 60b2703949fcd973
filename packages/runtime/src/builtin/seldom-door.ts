import { withSchemas } from "../state/late-schema.ts";
import { Door } from "../stream/door.ts";

/** Most agents have no stop conditions of their own, no plugin that talks to the model, and short conversations. */
export const seldom = new Door(() => withSchemas(() => import("./seldom.ts")));
