import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { CliError } from "../cli-error.ts";

const BODY = JSON.stringify({ error: "the project does not load; `awaken dev` says why", code: "server_busy" });
const NOBODY = [
  "HTTP/1.1 503 Service Unavailable",
  "content-type: application/json; charset=utf-8",
  `content-length: ${Buffer.byteLength(BODY)}`,
  "retry-after: 1",
  "connection: close",
  "",
  BODY,
].join("\r\n");

/** Owns the port: connections are handed on to whoever serves at that moment, and stay with him. */
export class Front {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  /** Where whoever serves listens; undefined for nobody. */
  target: number | undefined;

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket) => this.#take(socket));
  }

  static async listen(port: number): Promise<Front> {
    const server = createServer({ noDelay: true });
    const front = new Front(server);
    server.listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch (cause) {
      throw new CliError("config_validation_failed", `port ${port} is in use`, "--port names another one", { cause });
    }
    return front;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  #take(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    socket.on("error", () => {});
    if (this.target === undefined) {
      socket.once("data", () => socket.end(NOBODY));
      return;
    }
    const behind = connect({ port: this.target, host: "127.0.0.1", noDelay: true });
    behind.on("error", () => socket.destroy());
    behind.once("close", () => socket.destroySoon());
    socket.once("close", () => behind.destroy());
    socket.pipe(behind).pipe(socket);
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}
