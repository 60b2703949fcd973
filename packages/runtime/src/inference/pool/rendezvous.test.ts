import { describe, expect, it } from "vitest";
import { fnv1a, rendezvous } from "./rendezvous.ts";

const hash = (text: string) => fnv1a(new TextEncoder().encode(text)).toString(16);

describe("rendezvous", () => {
  it("hashes as 64-bit FNV-1a does", () => {
    expect([hash(""), hash("a"), hash("foobar")]).toEqual(["cbf29ce484222325", "af63dc4c8601ec8c", "85944171f73967e8"]);
  });

  it("moves only the keys of the member that leaves", () => {
    const winner = (key: string, ids: readonly string[]) =>
      ids.reduce((best, id) => (rendezvous(key, id, 1) > rendezvous(key, best, 1) ? id : best));
    for (let count = 0; count < 500; count++) {
      const home = winner(`t${count}`, ["a", "b", "c"]);
      if (home !== "c") expect(winner(`t${count}`, ["a", "b"])).toBe(home);
    }
  });
});
