import { expect, test } from "vitest";
import { Listeners } from "./listeners.ts";

test("what is passed up is passed while somebody follows those above, and not before or after", () => {
  const [root, child, grandchild] = [new Listeners<string>(), new Listeners<string>(), new Listeners<string>()];
  const passed: string[] = [];
  child.passUp(root, (event) => root.tell(`child: ${event}`));
  grandchild.passUp(child, (event) => {
    passed.push(event);
    child.tell(event);
  });
  grandchild.tell("nobody");
  expect([passed, child.isAttended, grandchild.isAttended, grandchild.isHeard]).toEqual([[], false, false, false]);
  const heard: string[] = [];
  const leave = root.add((event) => heard.push(event));
  expect([child.isAttended, grandchild.isAttended, grandchild.isHeard]).toEqual([true, true, false]);
  grandchild.tell("one");
  leave();
  grandchild.tell("late");
  expect([passed, heard]).toEqual([["one"], ["child: one"]]);
  root.add((event) => heard.push(event));
  child.clear();
  expect(grandchild.isAttended).toBe(false);
});
