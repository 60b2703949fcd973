import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A client that costs next to nothing: what is measured should be the server. One request after the other on one connection. */
export class Wire {
  readonly #socket: Socket;
  #received = "";
  #isWhole: (() => void) | undefined;
  #fail: ((why: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket.setEncoding("latin1").setNoDelay();
    socket.on("data", (chunk) => {
      this.#received += chunk;
      if (isWhole(this.#received)) this.#isWhole?.();
    });
    socket.on("error", (error) => this.#fail?.(error));
    socket.on("close", () => this.#fail?.(new Error(`the connection was closed after ${this.#received.slice(0, 300)}`)));
  }

  static async open(port: number): Promise<Wire> {
    const socket = connect({ port, host: "127.0.0.1" });
    await once(socket, "connect");
    return new Wire(socket);
  }

  /** The whole answer, head and all. */
  ask(request: string): Promise<string> {
    this.#received = "";
    return new Promise((resolve, reject) => {
      this.#isWhole = () => resolve(this.#received);
      this.#fail = reject;
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#fail = undefined;
    this.#socket.destroy();
  }
}

export function post(path: string, body: unknown): string {
  const text = JSON.stringify(body);
  const head = ["host: 127.0.0.1", "content-type: application/json", `content-length: ${Buffer.byteLength(text)}`];
  return `POST ${path} HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n${text}`;
}

/** Chunks end with an empty one; a body of known length is there when all of it is. */
function isWhole(text: string): boolean {
  if (text.endsWith("\r\n0\r\n\r\n")) return true;
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head))?.[1];
  return length !== undefined && text.length >= head + 4 + Number(length);
}
