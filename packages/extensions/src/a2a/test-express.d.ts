/** As much of express as the servers of tests are made with: it has no types of its own. */
declare module "express" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  export type RequestHandler = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
  interface Express extends RequestHandler {
    (request: IncomingMessage, response: ServerResponse): void;
    use(handler: RequestHandler): void;
    use(path: string, handler: RequestHandler): void;
    get(path: string, handler: RequestHandler): void;
  }
  const express: { (): Express; json(): RequestHandler };
  export default express;
}
