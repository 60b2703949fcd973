import { ask, defineTool, reply } from "@awaken/runtime";
import { afterAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { stopServer } from "../relay/support/nodes.ts";
import { openSite, type Site } from "./support/site.ts";

afterAll(stopServer);

const PIXEL = "QUJD".repeat(12);
const IMAGE = { type: "image", source: { type: "base64", mediaType: "image/png", data: PIXEL } } as const;

async function post({ url }: Site, path: string, body: object): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(url + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  return { status: answer.status, text: await answer.text() };
}

const say = (site: Site, messages: readonly object[]) => post(site, "/v1/ai-sdk/chat", { id: "t", agentId: "assistant", messages });
const asked = { id: "u1", role: "user", parts: [{ type: "text", text: "own say" }] };

const history = async ({ url }: Site) => (await (await fetch(`${url}/v1/ai-sdk/threads/t/messages`)).json()).messages;
const outputIn = (messages: readonly { readonly parts: readonly { readonly type: string; readonly output?: unknown }[] }[]) =>
  messages[1]?.parts.find(({ type }) => type === "tool-own")?.output;
const times = (text: string, word: string): number => text.split(word).length - 1;

const urls = [
  "javascript:alert(1)",
  " JavaScript:alert(1)",
  "data:text/html;base64,PHA+",
  "data:text/html,<p>",
  "data:,x",
  "file:///etc/passwd",
  "blob:x",
];

describe.each(["sqlite", "postgres"] as const)("on %s", (engine) => {
  test.each([false, true])(
    "protocols 15, 68: an image that is in the data of a tool as well is shown once, live and later; after an approval: %s",
    async (isAsked) => {
      await using site = await openSite(engine, [
        defineTool({
          id: "own",
          description: "Draws",
          input: z.object({ of: z.string() }),
          ...(isAsked ? { approve: () => ask("Draw it?") } : undefined),
          execute: () =>
            reply({ content: [{ type: "image", data: PIXEL, mimeType: "image/png" }] }, { message: "(a sky)", media: [IMAGE] }),
        }),
      ]);
      let { text } = await say(site, [asked]);
      if (isAsked) {
        const [first, second] = await history(site);
        const parts = second.parts.map((part: { approval?: { id: string } }) =>
          part.approval === undefined ? part : { ...part, state: "approval-responded", approval: { id: part.approval.id, approved: true } },
        );
        text = (await say(site, [first, { ...second, parts }])).text;
      }
      expect(times(text, PIXEL)).toBe(1);
      const output = { data: "(a sky)", media: [{ type: "file", mediaType: "image/png", url: `data:image/png;base64,${PIXEL}` }] };
      expect(outputIn(await history(site))).toEqual(output);
      await site.store.sweep({ eventsMs: -1 });
      expect(outputIn(await history(site))).toEqual(output);
    },
  );

  test("protocols 15, 32: a page is given no address that a browser would run; that something is left out is said", async () => {
    const bad = [
      ...urls.map((url) => ({ type: "document", source: { type: "url", url } }) as const),
      { type: "image", source: { type: "base64", mediaType: "text/html", data: "PHA+" } } as const,
      { type: "document", source: { type: "base64", mediaType: "application/xhtml+xml", data: "PHA+" } } as const,
    ];
    const good = [
      IMAGE,
      { type: "image", source: { type: "url", url: "data:image/gif;base64,QUJD" } },
      { type: "document", source: { type: "url", url: "HTTPS://files.example/a.pdf" } },
      { type: "document", source: { type: "base64", mediaType: "text/plain;charset=utf-8", data: "QUJD" } },
    ] as const;
    await using site = await openSite(engine, [
      defineTool({
        id: "own",
        description: "Draws",
        input: z.object({ of: z.string() }),
        execute: () => reply({}, { media: [...bad, ...good] }),
      }),
    ]);
    const live = await say(site, [asked]);
    const run = { threadId: "g", agentId: "assistant", protocolVersion: "1.0", messages: [{ id: "u1", role: "user", content: "own say" }] };
    const agUi = await post(site, "/v1/ag-ui/run", run);
    const later = await (await fetch(`${site.url}/v1/ag-ui/threads/g/messages?protocolVersion=1.0`)).text();
    for (const text of [live.text, agUi.text, later]) {
      expect(text).not.toMatch(/javascript:|html|file:\/\/|blob:|data:,/i);
      expect(text).toContain("left out: its address is not one");
      expect(text).toContain("HTTPS://files.example/a.pdf");
    }
    const { media } = outputIn(await history(site)) as { media: readonly { readonly type: string }[] };
    expect(media.map(({ type }) => type)).toEqual([...bad.map(() => "text"), ...good.map(() => "file")]);
  });

  test("protocols 32: what is forwarded has a limit of its own", async () => {
    await using site = await openSite(engine);
    const run = (threadId: string, size: number) => ({
      threadId,
      agentId: "assistant",
      messages: [{ id: `u-${threadId}`, role: "user", content: "say" }],
      forwardedProps: { pad: "p".repeat(size) },
    });
    expect((await post(site, "/v1/ag-ui/run", run("a", 60_000))).status).toBe(200);
    const refused = await post(site, "/v1/ag-ui/run", run("b", 66_000));
    expect(refused).toMatchObject({ status: 413, text: expect.stringContaining("payload_too_large") });
  });
});
