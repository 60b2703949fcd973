import { type Component, truncateToWidth } from "@earendil-works/pi-tui";
import { clean } from "../sanitize.ts";
import type { ChatDriver } from "./driver.ts";
import type { Theme } from "./theme.ts";

const STATES = { idle: "ready", running: "running", waiting: "waits for a decision", "cut-off": "cut off" } as const;

export function statusText(driver: ChatDriver): string {
  const { agent, id, state } = driver.talk;
  const parts = [agent, id, STATES[state.type], driver.host.modelOf(agent), `${driver.conversation.tokens} tokens`];
  return clean(parts.filter((part) => part !== "").join(" · "));
}

export class StatusLine implements Component {
  readonly #driver: ChatDriver;
  readonly #theme: Theme;

  constructor(driver: ChatDriver, theme: Theme) {
    this.#driver = driver;
    this.#theme = theme;
  }

  invalidate(): void {}

  render(width: number): string[] {
    return [this.#theme.dim(truncateToWidth(statusText(this.#driver), width))];
  }
}
