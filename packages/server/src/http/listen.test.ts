import { createServer } from "node:http";
import { expect, test } from "vitest";
import { listenOn } from "./listen.ts";

const quiet = { warn() {}, error() {} };

test("who cannot listen is told why, and what to do", async () => {
  const [first, second] = [createServer(), createServer()];
  await listenOn(first, { port: 0, host: "127.0.0.1", reusePort: false }, quiet);
  const address = first.address();
  const port = typeof address === "object" && address !== null ? address.port : expect.fail();
  const refused = (host: string, message: RegExp) =>
    expect(listenOn(second, { port, host, reusePort: false }, quiet)).rejects.toMatchObject({
      code: "config_validation_failed",
      message: expect.stringMatching(message),
    });
  await refused("127.0.0.1", new RegExp(`^serve: another process listens on port ${port} of 127.0.0.1: .*--share-port`));
  await refused("192.0.2.1", /^serve: 192\.0\.2\.1 is no address of this machine/);
  await new Promise((resolve) => first.close(resolve));
});

test("a connection that cannot be taken is logged, each of them, and ends no server", async () => {
  const errors: string[] = [];
  const node = createServer();
  await listenOn(node, { port: 0, host: "127.0.0.1", reusePort: false }, { ...quiet, error: (message) => void errors.push(message) });
  for (const _ of [1, 2]) node.emit("error", new Error("accept EMFILE"));
  expect(errors).toEqual(Array(2).fill("a connection could not be taken: accept EMFILE"));
  expect(node.listening).toBe(true);
  await new Promise((resolve) => node.close(resolve));
});
