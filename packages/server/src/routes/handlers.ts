import { ROUTES, type RouteName } from "@awaken/contract/http";
import { controlHandlers } from "./control.ts";
import { deadLetterHandlers } from "./dead-letters.ts";
import { type Endpoint, endpointsOf } from "./endpoint.ts";
import { eventHandlers } from "./events.ts";
import { pendingHandlers } from "./pending.ts";
import { queueHandlers } from "./queue.ts";
import { runHandlers } from "./runs.ts";
import type { Handlers } from "./served.ts";
import { systemHandlers } from "./system.ts";
import { threadHandlers } from "./threads.ts";

/** One for each route of the table. A route without one does not compile. */
const HANDLERS: Handlers<RouteName> = {
  ...systemHandlers,
  ...deadLetterHandlers,
  ...queueHandlers,
  ...threadHandlers,
  ...pendingHandlers,
  ...runHandlers,
  ...controlHandlers,
  ...eventHandlers,
};

/** The server's own routes. */
export const NATIVE: readonly Endpoint[] = endpointsOf(ROUTES, HANDLERS);
