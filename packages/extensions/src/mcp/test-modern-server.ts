// A server of the newer protocol, made with the official SDK. Run with Node as `http` or `stdio`, never imported.
import { createServer } from "node:http";
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

const say = (words: string) => ({ content: [{ type: "text" as const, text: words }] });

function create(): McpServer {
  const server = new McpServer({ name: "modern", version: "1" });
  const numbers = z.object({ a: z.number(), b: z.number() });
  server.registerTool("add", { inputSchema: numbers }, async ({ a, b }) => say(String(a + b)));
  server.registerTool("ask_color", { inputSchema: z.object({}) }, async (_input, context) => {
    const color = z.object({ color: z.string() });
    const answer = acceptedContent(context.mcpReq.inputResponses, "color", color);
    if (answer !== undefined) return say(answer.color);
    return inputRequired({ inputRequests: { color: inputRequired.elicit({ message: "Which color?", requestedSchema: color }) } });
  });
  return server;
}

if (process.argv[2] === "stdio") serveStdio(create);
else {
  const handler = createMcpHandler(create);
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = new Headers(Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]));
    const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
    const answer = await handler.fetch(
      new Request(`http://localhost${request.url}`, { method: request.method ?? "GET", headers, ...body }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body !== null) for await (const chunk of answer.body) response.write(chunk);
    response.end();
  });
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    process.stdout.write(`${typeof address === "object" ? address?.port : ""}\n`);
  });
}
