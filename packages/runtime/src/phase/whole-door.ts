import { Door } from "../stream/door.ts";

/** One for all runtimes of the process. */
export const whole = new Door(() => import("./whole-phase.ts"));
