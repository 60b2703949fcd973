import type { MediaContent } from "@awaken/contract";

/** What a browser shows or keeps, and does not run as a page. */
const SHOWN_TYPE =
  /^(?:(?:image|audio|video)\/[\w.+-]+|text\/(?:plain|markdown|csv)|application\/(?:pdf|json|rtf|msword|zip|octet-stream|vnd\.[\w.-]+))(?:;[\w=.-]+)*$/i;

const HTTP = /^https?:\/\//i;
const DATA = /^data:([^,]*?)(?:;base64)?,/i;

const isShownAddress = (url: string): boolean => HTTP.test(url) || SHOWN_TYPE.test(DATA.exec(url)?.[1] ?? "");

/** Whether pages are given it: tools and models name addresses and types as they like, and a page makes links of them. */
export const isShown = ({ source }: MediaContent): boolean =>
  source.type === "url" ? isShownAddress(source.url) : SHOWN_TYPE.test(source.mediaType);

/** What stands in the place of one that is not. */
export const notShown = ({ type, source }: MediaContent): string =>
  `[${type} left out: ${source.type === "url" ? "its address" : "its type"} is not one that pages are given]`;
