// @vitest-environment jsdom

import { act, waitFor } from "@testing-library/react";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { startDev } from "./support/dev.ts";
import { openPage } from "./support/page.ts";

// `awaken dev` under a page: its project is changed in the middle of an answer.

/** It says the first word, and the rest when it may. */
const config = (answer: string) => `
import { existsSync } from "node:fs";
import { parts, scripted } from "awaken/testing";

const waiting = async function* (request, options) {
  yield { type: "text-delta", delta: ${JSON.stringify(`${answer}: `)} };
  while (!existsSync(${JSON.stringify(`${answer}.go`)})) {
    options.signal?.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  yield* scripted([parts({ type: "text-delta", delta: "said." }, { type: "stop", reason: "end-turn" })]).stream(request, options);
};

export default {
  providers: { house: { name: "house", stream: waiting } },
  models: { fast: { provider: "house", model: "fast-1" } },
  agents: { assistant: { model: "fast" } },
};
`;

test("protocols 18: a project that changes in the middle of an answer: the page comes back by itself and has what is on record, and posted once", async () => {
  await using dev = await startDev(config("first"));
  const { url } = dev;
  const page = openPage({ url, id: "t", resume: true });
  await waitFor(() => expect(page.requests).toHaveLength(1));
  await act(async () => void page.at().sendMessage({ text: "go" }));
  await waitFor(() => expect(page.text()).toContain("first: "));
  dev.write("second.go", "");
  dev.write("awaken.config.ts", config("second"));
  // Its connection is gone, and it knows that this was no end.
  await waitFor(() => expect(page.at().status).toBe("error"));
  // As a browser says it when one goes back to the page.
  await waitFor(async () => {
    await act(async () => void document.dispatchEvent(new Event("visibilitychange")));
    expect(page.at().status).toBe("ready");
  });
  const history: UIMessage[] = (await (await fetch(`${url}/v1/ai-sdk/threads/t/messages`)).json()).messages;
  expect(page.messages.map(({ id, role, parts }) => ({ id, role, parts }))).toEqual(
    history.map(({ id, role, parts }) => ({ id, role, parts })),
  );
  expect(page.text()).toContain("said.");
  expect(page.posts).toBe(1);
  page.unmount();
});
