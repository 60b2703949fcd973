import { withSchemas } from "../state/late-schema.ts";
import { Door } from "../stream/door.ts";

/** One for all runtimes of the process. */
export const whole = new Door(() => withSchemas(() => import("./whole-phase.ts")));
