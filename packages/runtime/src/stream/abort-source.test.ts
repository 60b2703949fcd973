import { describe, expect, it } from "vitest";
import { HeardController } from "./abort-source.ts";

describe("HeardController", () => {
  it("tells each ear once, behind the listeners of its signal, and those who left not at all", () => {
    const controller = new HeardController();
    const told: string[] = [];
    const ear = (name: string) => ({ aborted: () => void told.push(name) });
    const left = ear("left");
    for (const each of [ear("a"), left, ear("b")]) controller.hear(each);
    controller.unhear(left);
    controller.signal.addEventListener("abort", () => told.push("listener"));
    controller.abort("why");
    controller.abort("again");
    expect(told).toEqual(["listener", "a", "b"]);
    expect(controller.signal.reason).toBe("why");
  });

  it("an ear that throws keeps nobody from hearing, and its error is told", () => {
    const controller = new HeardController();
    let isTold = false;
    const broken = {
      aborted() {
        throw new Error("broken ear");
      },
    };
    controller.hear(broken);
    controller.hear({ aborted: () => (isTold = true) });
    expect(() => controller.abort()).toThrow("broken ear");
    expect(isTold).toBe(true);
  });
});
