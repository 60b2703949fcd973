import { expect, test } from "vitest";
import { loadPeer } from "./load-peer.ts";

const PEER = { name: "prom-client", neededBy: "prometheus()", install: "prom-client" };
const failing = (code: string, message: string) => () => Promise.reject(Object.assign(new Error(message), { code }));

test("a package that is not installed is one line that names the install", async () => {
  const line = "prometheus() needs the package prom-client: npm install prom-client";
  for (const load of [
    failing("ERR_MODULE_NOT_FOUND", "Cannot find package 'prom-client' imported from /a/b.js"),
    failing("MODULE_NOT_FOUND", "Cannot find module 'prom-client'\nRequire stack:\n- /a/b.js"),
  ]) {
    await expect(loadPeer(PEER, load)).rejects.toMatchObject({ code: "invalid_plugin", message: line });
  }
});

test("one that is there and broken says so itself", async () => {
  const broken = "Cannot find package 'tdigest' imported from /a/node_modules/prom-client/index.js";
  await expect(loadPeer(PEER, failing("ERR_MODULE_NOT_FOUND", broken))).rejects.toThrow(broken);
  await expect(loadPeer(PEER, () => Promise.reject(new SyntaxError("oops")))).rejects.toThrow("oops");
});
