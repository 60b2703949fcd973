import type { LookupAddress } from "node:dns";
import { BlockList, isIP, isIPv4 } from "node:net";
import { AwakenError } from "@awaken/contract";

/** Special ranges of IPv4: this network, private, shared, loopback, link-local, protocols, documentation, benchmarks, multicast, reserved. */
const SPECIAL_4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24"],
  ...["192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
];
/** What is public of IPv6: global unicast, and public IPv4 addresses behind a translator. */
const PUBLIC_6 = ["2000::/3", "64:ff9b::/96"];
/** Special ranges within those: protocols and tunnels, which hold addresses of IPv4, and documentation. */
const SPECIAL_6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];
const LOOPBACK = ["127.0.0.0/8", "::1/128"];

const familyOf = (address: string): "ipv4" | "ipv6" => (isIPv4(address) ? "ipv4" : "ipv6");

/** Adds a range such as `10.0.0.0/8`, or one address. False: it is none. */
function add(list: BlockList, range: string): boolean {
  const [address = "", prefix, ...more] = range.split("/");
  const widest = isIPv4(address) ? 32 : 128;
  const bits = prefix === undefined ? widest : Number(prefix);
  const isRange = isIP(address) !== 0 && more.length === 0 && prefix !== "" && Number.isInteger(bits) && bits >= 0 && bits <= widest;
  if (isRange) list.addSubnet(address, bits, familyOf(address));
  return isRange;
}

const listOf = (ranges: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const range of ranges) add(list, range);
  return list;
};

const special = listOf([...SPECIAL_4, ...SPECIAL_6, ...SPECIAL_4.map((range) => translated(range))]);
const public6 = listOf(PUBLIC_6);

/** The same range as a translator between IPv6 and IPv4 has it. */
function translated(range: string): string {
  const [address = "", bits = ""] = range.split("/");
  return `64:ff9b::${address}/${96 + Number(bits)}`;
}

const isPublic = (address: string): boolean =>
  isIPv4(address) ? !special.check(address, "ipv4") : public6.check(address, "ipv6") && !special.check(address, "ipv6");

/** Every address of a name, as the system has them. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

const bySystem: Resolve = async (host) => {
  const { lookup } = await import("node:dns/promises");
  return lookup(host, { all: true });
};

const withoutBrackets = (host: string): string => (host.startsWith("[") ? host.slice(1, -1) : host);

/** Which addresses may be asked: public ones, and those that the host of the program names. */
export class Addresses {
  readonly #allowed = new BlockList();
  readonly #resolve: Resolve;

  constructor(allow: readonly string[] = [], resolve = bySystem) {
    this.#resolve = resolve;
    for (const range of allow.flatMap((entry) => (entry === "loopback" ? LOOPBACK : [entry]))) {
      if (add(this.#allowed, range)) continue;
      const message = `allow takes "loopback", an address, or a range such as "10.0.0.0/8", got "${range}"`;
      throw new AwakenError("config_validation_failed", message, { details: { range } });
    }
  }

  /** Throws for what its name alone says is not public. Names are looked up when they are connected to. */
  checkHost(url: URL): void {
    const host = withoutBrackets(url.hostname).toLowerCase().replace(/\.$/, "");
    if (isIP(host) !== 0) this.#check(host, host);
    else if (host === "localhost" || host.endsWith(".localhost")) this.#check(host, "127.0.0.1");
  }

  /** All addresses of a name; throws unless every one of them may be asked. */
  async lookUp(host: string): Promise<readonly LookupAddress[]> {
    const found = await this.#resolve(host);
    for (const { address } of found) this.#check(host, address);
    return found;
  }

  #check(host: string, address: string): void {
    if (isPublic(address) || this.#allowed.check(address, familyOf(address))) return;
    const what = host === address ? `the address ${address}` : `the address ${address} of ${host}`;
    throw new AwakenError("remote_failed", `${what} is not public, and a2a({ allow }) does not name it`, { details: { host, address } });
  }
}
