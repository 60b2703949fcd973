/** As much of Express as the tests call; it comes without types. */
declare module "express" {
  interface Answer {
    readonly headersSent: boolean;
    send(text: string): void;
  }
  interface Asked {
    readonly headers: object;
  }
  type Listener = (request: Asked, response: Answer) => void;
  interface Application {
    (request: import("node:http").IncomingMessage, response: import("node:http").ServerResponse): void;
    use(listener: Listener): void;
    use(path: string, listener: Listener): void;
    get(path: string, listener: Listener): void;
  }
  const express: { (): Application; json(): Listener };
  export default express;
}
