import { Door } from "../stream/door.ts";

/** Most programs follow nobody, and are followed by nobody: what it takes is loaded with the first who does. */
export const following = new Door(() => import("./following.ts"));
