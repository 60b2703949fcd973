import type { IncomingMessage, ServerResponse } from "node:http";
import { type AwakenServer, fetchOnOf } from "./create-server.ts";
import { isOutgoing } from "./http/deliver.ts";

/** What of a request of Node an application hands on; Express has the body that it parsed there. */
export interface NodeRequest {
  /** `GET`, `POST` and so on. */
  readonly method?: string | undefined;
  /** Behind where the application has mounted the server. */
  readonly url?: string | undefined;
  /** As Node has them. */
  readonly headers: object;
}

/** What of a response of Node an application hands on. */
export interface NodeResponse {
  /** Whether somebody else has answered. */
  readonly headersSent: boolean;
}

const isIncoming = (request: NodeRequest): request is NodeRequest & IncomingMessage => "socket" in request;
const isResponse = (response: NodeResponse): response is NodeResponse & ServerResponse => "writeHead" in response;

/** A body that the application has read already is given on as it was understood. */
function withBody(request: IncomingMessage): IncomingMessage {
  if (!("body" in request) || request.body === undefined || !request.readableEnded) return request;
  const body: unknown = request.body;
  return Object.assign(request, {
    rawBody: Buffer.isBuffer(body) ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
  });
}

/** A server for applications on Node that have one: `app.use("/agents", nodeListener(server))` in Express, `createServer(nodeListener(server))` of `node:http`. */
export function nodeListener(server: Pick<AwakenServer, "fetch">): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  const fetchOn = fetchOnOf(server);
  const listening = Promise.all([import("@hono/node-server"), import("@hono/node-server/utils/response")]).then(
    ([{ getRequestListener }, { RESPONSE_ALREADY_SENT: sent }]) =>
      getRequestListener(
        (request, { outgoing }) =>
          fetchOn !== undefined && isOutgoing(outgoing) ? fetchOn(request, { outgoing, sent }) : server.fetch(request),
        { overrideGlobalObjects: false },
      ),
  );
  return async (request, response) => {
    if (!isIncoming(request) || !isResponse(response)) throw new TypeError("nodeListener takes a request and a response of node:http");
    await (await listening)(withBody(request), response);
  };
}
