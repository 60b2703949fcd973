import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { Addresses } from "./addresses.ts";
import { openLink } from "./link.ts";

const refusal = (host: string, allow?: readonly string[]): string | undefined => {
  try {
    new Addresses(allow).checkHost(new URL(`http://${host}/`));
    return undefined;
  } catch (thrown) {
    return String(thrown);
  }
};

describe("which addresses may be asked", () => {
  test.each([
    ...["127.0.0.1", "127.9.9.9", "2130706433", "0x7f.1", "0177.0.0.1", "localhost", "LOCALHOST.", "a.localhost", "[::1]", "[::]"],
    ...[
      "0.0.0.0",
      "10.1.2.3",
      "100.64.0.1",
      "100.127.255.255",
      "169.254.169.254",
      "172.16.0.1",
      "172.31.255.255",
      "192.0.0.1",
      "192.0.2.1",
    ],
    ...[
      "192.168.1.1",
      "198.18.0.1",
      "198.19.255.255",
      "198.51.100.7",
      "203.0.113.9",
      "224.0.0.1",
      "239.1.1.1",
      "240.0.0.1",
      "255.255.255.255",
    ],
    ...["[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::127.0.0.1]", "[fc00::1]", "[fd12::1]", "[fe80::1]", "[ff02::1]", "[2001:db8::1]"],
    ...["[2002:7f00:1::]", "[2001::1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::1]", "[100::1]", "[3fff::1]"],
  ])("registry-and-runtime 53: %s is not public", (host) => {
    expect(refusal(host)).toContain("is not public");
  });

  test.each([
    "8.8.8.8",
    "1.1.1.1",
    "100.128.0.1",
    "172.32.0.1",
    "[2606:4700::1111]",
    "[64:ff9b::808:808]",
    "agents.example",
    "localhost.example",
  ])("%s may be asked", (host) => expect(refusal(host)).toBeUndefined());

  test("the host of the program names more: loopback, an address, a range", () => {
    expect(refusal("localhost", ["loopback"])).toBeUndefined();
    expect(refusal("[::1]", ["loopback"])).toBeUndefined();
    expect(refusal("10.1.2.3", ["loopback"])).toContain("is not public");
    expect(refusal("10.1.2.3", ["10.0.0.0/8"])).toBeUndefined();
    expect(refusal("11.1.2.3", ["11.1.2.3"])).toBeUndefined();
    expect(refusal("[fd12::5]", ["fd12::/16"])).toBeUndefined();
    for (const range of ["10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/8", "intranet", "", "::1/129"]) {
      expect(() => new Addresses([range])).toThrow(`got "${range}"`);
    }
  });

  test("registry-and-runtime 53: every address that a name has must be public when it is connected to, and none is connected to before", async () => {
    const connections: unknown[] = [];
    const server = createServer((_, response) => response.end("{}"));
    server.on("connection", (socket) => connections.push(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const url = `http://rebound.example:${port}/`;
    const asked: string[] = [];
    const found = (addresses: readonly string[]) => async (host: string) => {
      asked.push(host);
      return addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    };
    for (const addresses of [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["2606:4700::1111", "::1"]]) {
      const link = openLink({ addresses: new Addresses([], found(addresses)), auth: undefined, maxBytes: 100 });
      await expect(link.fetch(url)).rejects.toThrow("of rebound.example is not public");
      link.close();
    }
    expect(connections).toEqual([]);
    const link = openLink({ addresses: new Addresses(["loopback"], found(["127.0.0.1"])), auth: undefined, maxBytes: 100 });
    expect(await (await link.fetch(url)).text()).toBe("{}");
    link.close();
    expect(asked).toEqual(["rebound.example", "rebound.example", "rebound.example", "rebound.example"]);
    await new Promise((resolve) => server.close(resolve));
  });
});
