import { readFile } from "node:fs/promises";
import { createServer as createNodeServer, type IncomingMessage, type ServerResponse } from "node:http";
import { extname, join } from "node:path";
import type { Runtime } from "awaken";
import { createServer, nodeListener } from "awaken/server";

const TYPES: Readonly<Record<string, string>> = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" };

async function sendFile(folder: string, { url = "/" }: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    // No `..` is left in the path of a URL.
    const { pathname } = new URL(url, "http://localhost");
    const name = pathname === "/" ? "index.html" : pathname;
    const body = await readFile(join(folder, name));
    response.writeHead(200, { "content-type": TYPES[extname(name)] ?? "application/octet-stream" }).end(body);
  } catch {
    response.writeHead(404).end("not found");
  }
}

export interface Site extends AsyncDisposable {
  readonly url: string;
}

/** What answers below `/api`. */
export interface Api {
  readonly fetch: (request: Request) => Promise<Response>;
  close(): Promise<void>;
}

/** The runtime: its own routes for `awaken/client`, and those of the AI SDK for `useChat`. */
export function openApi(runtime: Runtime): Api {
  // Who asks: an application reads its session here. This one listens on this machine alone.
  const server = createServer({ runtime, basePath: "/api", access: () => ({ scopeId: "default" }) });
  return {
    fetch: server.fetch,
    async close() {
      await runtime.close({ handOver: true });
      await server.close();
    },
  };
}

/** The page and the API on one port. */
export async function openSite(api: Api, { page, port }: { readonly page: string; readonly port: number }): Promise<Site> {
  const listen = nodeListener(api);
  const node = createNodeServer((request, response) => {
    void (request.url?.startsWith("/api/") ? listen(request, response) : sendFile(page, request, response));
  });
  await new Promise<void>((resolve, reject) => {
    node.once("error", reject);
    node.listen(port, "127.0.0.1", resolve);
  });
  const address = node.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : port}`,
    async [Symbol.asyncDispose]() {
      await api.close();
      const closed = new Promise((resolve) => node.close(resolve));
      node.closeAllConnections();
      await closed;
    },
  };
}
