import type { IncomingMessage, ServerResponse } from "node:http";
import { AwakenError, consoleLog } from "@awaken/contract";
import type { Runtime } from "@awaken/runtime";
import { type HostedServer, openServer, type ServerInit } from "./create-server.ts";
import { isLoopback, loopbackAccess } from "./http/access.ts";
import { isTooLarge, readableHead, refuseHead, TOO_MANY_HEADERS, unreadable } from "./http/bad-head.ts";
import { isOutgoing } from "./http/deliver.ts";
import { listenOn } from "./http/listen.ts";

export interface ServeInit extends ServerInit {
  /** What is served; it is closed with the server, and its runs are left to other processes. */
  readonly runtime: ServerInit["runtime"] & Pick<Runtime, "close">;
  /** Default 3000. 0 for one that is free. */
  readonly port?: number;
  /** Other processes of this machine may listen on the same port: the system deals out connections among them. Linux and FreeBSD can. Default false. */
  readonly sharePort?: boolean;
  /** The address that it listens on. Default `127.0.0.1`, where everybody on this machine is let in. Any other one needs `access`. */
  readonly host?: string;
  /** How long the server says that it is not ready before it leaves, for whoever balances load to notice. Default 0. */
  readonly drainMs?: number;
  /** How long a run may take to come to its next step before it is left to other processes, so that no tool is left in the middle. Default 0. */
  readonly graceMs?: number;
}

export interface RunningServer extends AsyncDisposable {
  /** Where it listens. */
  readonly url: string;
  /** The port of that. */
  readonly port: number;
  /** Not ready first; then what comes is refused, streams end, runs are left to other processes, and the port is free. */
  close(): Promise<void>;
}

/** A request has so long for its head, and a connection so long without one. */
const SERVER_OPTIONS = {
  headersTimeout: 20_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 65_000,
  // Node would refuse those without one in words of its own.
  requireHostHeader: false,
};

function accessOf({ access, host = "127.0.0.1" }: ServeInit): ServerInit["access"] {
  if (access !== undefined) return access;
  if (isLoopback(host)) return loopbackAccess;
  throw new AwakenError(
    "config_validation_failed",
    `serve: ${host} can be reached by others: say who is let in with access: apiKeys([…]), or "open" for everybody; awaken serve reads AWAKEN_API_KEYS`,
  );
}

/** Every request that comes in is answered by the server, also one that cannot be read. */
async function listenerOf(server: HostedServer) {
  const { origins } = server;
  const [{ createServer }, { getRequestListener }, { RESPONSE_ALREADY_SENT: sent }] = await Promise.all([
    import("node:http"),
    import("@hono/node-server"),
    import("@hono/node-server/utils/response"),
  ]);
  const listen = getRequestListener(
    (request, { incoming, outgoing }) => {
      if (isTooLarge(incoming, origins)) return server.refuse(request, new AwakenError("headers_too_large", TOO_MANY_HEADERS));
      return isOutgoing(outgoing) ? server.fetchOn(request, { outgoing, sent }) : server.fetch(request);
    },
    // The server itself never throws: there was no request to give it.
    { overrideGlobalObjects: false, errorHandler: unreadable },
  );
  const hear = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    // Before 1.1 nobody had to say whom he asks, and some who look after many servers still do not. It is no name of this machine.
    if (incoming.headers.host === undefined && incoming.httpVersion === "1.0") incoming.headers.host = "host.invalid";
    return listen(incoming, outgoing);
  };
  const node = createServer({ ...SERVER_OPTIONS, maxHeaderSize: readableHead(origins) }, hear);
  // Node would leave out those that are too many.
  node.maxHeadersCount = 0;
  node.on("checkExpectation", hear);
  // Whoever asks first whether he may send his body is told so when it is read, and not when he is refused.
  node.on("checkContinue", (incoming, outgoing) => {
    incoming.once("resume", () => {
      if (!outgoing.headersSent) outgoing.writeContinue();
    });
    return hear(incoming, outgoing);
  });
  node.on("connect", (_, socket) => refuseHead({}, socket, origins));
  return node.on("clientError", (error, socket) => refuseHead(error, socket, origins));
}

/** Listens on Node until it is closed. */
export async function serve(init: ServeInit): Promise<RunningServer> {
  const { port = 3000, host = "127.0.0.1", sharePort = false, drainMs = 0, graceMs = 0, runtime } = init;
  const server = openServer({ ...init, access: accessOf(init) ?? "open" });
  const node = await listenerOf(server);
  try {
    await listenOn(node, { port, host, reusePort: sharePort }, init.log ?? consoleLog);
  } catch (thrown) {
    await server.close();
    throw thrown;
  }
  const address = node.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  let closed: Promise<void> | undefined;
  const leave = async () => {
    server.drain();
    if (drainMs > 0) await new Promise((resolve) => setTimeout(resolve, drainMs));
    // Whoever comes while the last steps are awaited is sent elsewhere: the runtime takes nobody any more.
    server.leave();
    await runtime.close({ handOver: true, graceMs });
    await server.close();
    const stopped = new Promise((resolve) => node.close(resolve));
    node.closeIdleConnections();
    // What is left is nobody who waits for an answer.
    const stop = setTimeout(() => node.closeAllConnections(), 1_000);
    await stopped;
    clearTimeout(stop);
  };
  const close = () => {
    closed ??= leave();
    return closed;
  };
  return { url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`, port: bound, close, [Symbol.asyncDispose]: close };
}
