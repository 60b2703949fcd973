import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NOWHERE, Roster, type Seated } from "./index.ts";

interface Member extends Seated {
  readonly name: number;
}

const member = (name: number): Member => ({ name, seat: NOWHERE });

describe("a roster", () => {
  it("knows the same members as a set, whoever comes and goes in whatever order", () => {
    const moves = fc.array(fc.record({ who: fc.nat({ max: 7 }), comes: fc.boolean() }), { maxLength: 60 });
    fc.assert(
      fc.property(moves, (all) => {
        const members = Array.from({ length: 8 }, (_, name) => member(name));
        const [roster, set] = [new Roster<Member>(), new Set<Member>()];
        for (const { who, comes } of all) {
          const one = members[who] ?? member(who);
          if (comes) {
            roster.add(one);
            set.add(one);
          } else expect(roster.remove(one)).toBe(set.delete(one));
          expect(new Set(roster.all())).toEqual(set);
          expect(roster.size).toBe(set.size);
          for (const other of members) expect(roster.has(other)).toBe(set.has(other));
        }
      }),
    );
  });

  it("gives a list that stays as it is when members leave while it is walked", () => {
    const roster = new Roster<Member>();
    const members = [member(0), member(1), member(2)];
    for (const one of members) roster.add(one);
    const seen: number[] = [];
    for (const one of roster.all()) {
      seen.push(one.name);
      roster.remove(one);
    }
    expect(seen).toEqual([0, 1, 2]);
    expect(roster.size).toBe(0);
  });
});
