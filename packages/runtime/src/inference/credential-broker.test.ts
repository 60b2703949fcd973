import { InferenceError, Secret } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { fakeClock } from "../testing/fake-clock.ts";
import { CredentialBroker, type Mint, type MintedToken } from "./credential-broker.ts";

const HOUR = 3_600_000;
const { signal } = new AbortController();
const minted = (text: string, expiresAt = HOUR): MintedToken => ({ token: new Secret(text), expiresAt });

function counting(mint: (attempt: number) => Promise<MintedToken>) {
  const scopes: string[] = [];
  const counted: Mint = (scope) => {
    scopes.push(scope);
    return mint(scopes.length);
  };
  return { mint: counted, scopes };
}

function setup(mint: Mint) {
  const clock = fakeClock();
  const broker = new CredentialBroker(clock);
  broker.register("p", mint);
  const token = async (scope = "s", by = signal) => (await broker.token("p", scope, by)).reveal();
  return { clock, broker, token };
}

describe("CredentialBroker", () => {
  it("inference 43: makes one token for ten who ask at once", async () => {
    const gate = Promise.withResolvers<MintedToken>();
    const { mint, scopes } = counting(() => gate.promise);
    const { token, clock } = setup(mint);
    const asked = Array.from({ length: 10 }, () => token());
    gate.resolve(minted("t"));
    expect(new Set(await Promise.all(asked))).toEqual(new Set(["t"]));
    expect(await token()).toBe("t");
    expect(scopes).toEqual(["s"]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("inference 43: gives out no token of material that was replaced while it was made", async () => {
    const old = Promise.withResolvers<MintedToken>();
    const { broker, token } = setup(() => old.promise);
    const asked = token();
    broker.register("p", async () => minted("new"));
    old.resolve(minted("old"));
    expect(await asked).toBe("new");
    expect(await token()).toBe("new");

    const failing = Promise.withResolvers<MintedToken>();
    broker.register("p", () => failing.promise);
    const unlucky = token();
    broker.register("p", async () => minted("newest"));
    failing.reject(new InferenceError({ type: "unauthorized", message: "revoked" }));
    expect(await unlucky).toBe("newest");

    const gone = Promise.withResolvers<MintedToken>();
    broker.register("p", () => gone.promise);
    const removed = token();
    broker.remove("p");
    gone.resolve(minted("late"));
    await expect(removed).rejects.toMatchObject({ failure: { type: "unauthorized" } });
  });

  it("inference 43: does not try a 4xx again, and does not make it look transient", async () => {
    for (const thrown of [
      Object.assign(new Error("bad grant"), { status: 400 }),
      Object.assign(new Error("slow"), { status: 429 }),
      new Error("bad key"),
    ]) {
      const { mint, scopes } = counting(() => Promise.reject(thrown));
      const { token } = setup(mint);
      await expect(token()).rejects.toMatchObject({ failure: { type: "unauthorized" }, isTransient: false });
      expect(scopes).toHaveLength(1);
    }
  });

  it("tries what may pass three times, and tells the newest failure", async () => {
    const { mint, scopes } = counting((attempt) => Promise.reject(Object.assign(new Error(`down ${attempt}`), { status: 503 })));
    const { token, clock } = setup(mint);
    const asked = token();
    asked.catch(() => {});
    await clock.advance(99);
    expect(scopes).toHaveLength(1);
    await clock.advance(1);
    expect(scopes).toHaveLength(2);
    await clock.advance(200);
    await expect(asked).rejects.toThrow(/down 3/);
    expect(clock.pendingTimers).toBe(0);

    const { mint: flaky } = counting((attempt) =>
      attempt === 1 ? Promise.reject(new TypeError("fetch failed")) : Promise.resolve(minted("t")),
    );
    const second = setup(flaky);
    const recovered = second.token();
    await second.clock.advance(100);
    expect(await recovered).toBe("t");
  });

  it("makes a new token a minute before the old one ends, and one for each scope", async () => {
    const { mint, scopes } = counting(async (attempt) => minted(`t${attempt}`, HOUR * attempt));
    const { token, clock } = setup(mint);
    expect([await token(), await token("other"), await token()]).toEqual(["t1", "t2", "t1"]);
    await clock.advance(HOUR - 60_001);
    expect(await token()).toBe("t1");
    await clock.advance(1);
    expect(await token()).toBe("t3");
    expect(scopes).toEqual(["s", "other", "s"]);
  });

  it("gives up on a minter that does not answer for 15 s", async () => {
    let aborted = 0;
    const hanging: Mint = (_, by) => {
      by.addEventListener("abort", () => (aborted += 1));
      return new Promise(() => {});
    };
    const { token, clock } = setup(hanging);
    const asked = token();
    asked.catch(() => {});
    await clock.advance(45_300);
    await expect(asked).rejects.toMatchObject({ failure: { type: "timeout" } });
    expect(aborted).toBe(3);
  });

  it("lets one who leaves go, and breaks off only when nobody waits any more", async () => {
    const gate = Promise.withResolvers<MintedToken>();
    let isAborted = false;
    const { mint } = counting(() => gate.promise);
    const { token, clock } = setup((scope, by) => {
      by.addEventListener("abort", () => (isAborted = true));
      return mint(scope, by);
    });
    const [first, second] = [new AbortController(), new AbortController()];
    const [leaving, staying] = [token("s", first.signal), token("s", second.signal)];
    first.abort();
    await expect(leaving).rejects.toMatchObject({ failure: { type: "cancelled" } });
    expect(isAborted).toBe(false);
    second.abort();
    await expect(staying).rejects.toMatchObject({ failure: { type: "cancelled" } });
    expect(isAborted).toBe(true);
    await clock.advance(0);
    expect(clock.pendingTimers).toBe(0);
    const fresh = token();
    gate.resolve(minted("t"));
    expect(await fresh).toBe("t");
  });

  it("has nothing for a provider that it does not know", async () => {
    const broker = new CredentialBroker(fakeClock());
    await expect(broker.token("nobody", "s", signal)).rejects.toMatchObject({ failure: { type: "unauthorized" } });
  });
});
