import type { ServerResponse } from "node:http";
import type { Random } from "./random.ts";
import type { VendorName } from "./vendors.ts";

/** What can go wrong with one request. `at` is a share of the answer's bytes. */
export type Fault =
  /** The bytes stop: the connection is closed or reset, or the body ends as if it were whole. */
  | { readonly type: "cut"; readonly how: "close" | "reset" | "end"; readonly at: number }
  | { readonly type: "status"; readonly status: number; readonly retryAfter?: number; readonly message?: string }
  /** One frame is no JSON. */
  | { readonly type: "malformed"; readonly at: number }
  /** The connection stays open and silent. */
  | { readonly type: "stall"; readonly at: number }
  /** After some frames the vendor says, on its own wire, that it is overloaded. */
  | { readonly type: "overload"; readonly vendor: VendorName; readonly at: number };

export interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
}

export const FAULT_KINDS = [
  "cut by close",
  "cut by reset",
  "cut by end",
  "429 after 0 s",
  "429 after 1 s",
  "500",
  "529",
  "malformed",
  "stall",
  "overload",
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export function faultOf(kind: FaultKind, vendor: VendorName, at: number): Fault {
  switch (kind) {
    case "cut by close":
      return { type: "cut", how: "close", at };
    case "cut by reset":
      return { type: "cut", how: "reset", at };
    case "cut by end":
      return { type: "cut", how: "end", at };
    case "429 after 0 s":
      return { type: "status", status: 429, retryAfter: 0 };
    case "429 after 1 s":
      return { type: "status", status: 429, retryAfter: 1 };
    case "500":
      return { type: "status", status: 500 };
    case "529":
      return { type: "status", status: 529 };
    case "malformed":
    case "stall":
      return { type: kind, at };
    case "overload":
      return { type: kind, vendor, at };
  }
}

/** Cuts are half of all faults; faults that cost a second are rarer. */
const WEIGHTED: readonly [FaultKind, ...FaultKind[]] = [
  "overload",
  "overload",
  "stall",
  ...Array.from({ length: 4 }, () => "cut by close" as const),
  ...Array.from({ length: 3 }, () => "cut by reset" as const),
  ...Array.from({ length: 3 }, () => "cut by end" as const),
  ...Array.from({ length: 4 }, () => "malformed" as const),
  "429 after 0 s",
  "429 after 0 s",
  "429 after 1 s",
  "500",
  "500",
  "529",
];

/** Undefined for a request that is spared. */
export const pickFault = (dice: Random, share: number): FaultKind | undefined => (dice.next() < share ? dice.pick(WEIGHTED) : undefined);

const immediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const write = (response: ServerResponse, bytes: Buffer): Promise<void> =>
  new Promise((resolve) => {
    if (bytes.length === 0 || response.destroyed) resolve();
    else response.write(bytes, () => resolve());
  });

/** In a few pieces that know nothing of frames or letters. */
async function writePieces(response: ServerResponse, bytes: Buffer, dice: Random): Promise<void> {
  response.flushHeaders();
  for (let from = 0; from < bytes.length; ) {
    const to = Math.min(bytes.length, from + 1 + dice.below(bytes.length));
    await write(response, bytes.subarray(from, to));
    await immediate();
    from = to;
  }
}

const framesOf = (body: Buffer): string[] =>
  body
    .toString("utf8")
    .split("\n\n")
    .filter((frame) => frame !== "");

const joinFrames = (frames: readonly string[]): Buffer => Buffer.from(frames.map((frame) => `${frame}\n\n`).join(""));

/** Only the first half of one frame is sent; what follows is whole again. */
function breakFrame(body: Buffer, at: number): Buffer {
  const frames = framesOf(body);
  const broken = Math.floor(at * frames.length);
  const half = (frame: string): string => {
    const start = frame.indexOf("data: ") + "data: ".length;
    return frame.slice(0, start + Math.ceil((frame.length - start) / 2));
  };
  return joinFrames(frames.map((frame, index) => (index === broken ? half(frame) : frame)));
}

const OVERLOADS: Readonly<Record<VendorName, object>> = {
  openai: {
    type: "error",
    sequence_number: 1,
    error: { type: "service_unavailable_error", code: "server_is_overloaded", message: "Try later." },
  },
  anthropic: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
  google: { error: { code: 503, status: "UNAVAILABLE", message: "The model is overloaded." } },
};

function overload(body: Buffer, vendor: VendorName, at: number): Buffer {
  const frames = framesOf(body);
  return joinFrames([...frames.slice(0, Math.floor(at * frames.length)), `data: ${JSON.stringify(OVERLOADS[vendor])}`]);
}

function spoil(body: Buffer, fault: Fault | undefined): Buffer {
  if (fault?.type === "malformed") return breakFrame(body, fault.at);
  return fault?.type === "overload" ? overload(body, fault.vendor, fault.at) : body;
}

function refuse(response: ServerResponse, { status, retryAfter, message }: Extract<Fault, { type: "status" }>): void {
  const said = message ?? `refused with ${status}`;
  const error = { type: "error", error: { type: "api_error", message: said, status: "UNKNOWN", code: status } };
  const wait = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  response.writeHead(status, { "content-type": "application/json", ...wait }).end(JSON.stringify(error));
}

/** Sends the answer as the fault has it. Without one it is sent whole. */
export async function send(response: ServerResponse, reply: Reply, fault: Fault | undefined, dice: Random): Promise<void> {
  if (fault?.type === "status") {
    refuse(response, fault);
    return;
  }
  const body = spoil(reply.body, fault);
  const isCut = fault?.type === "cut" || fault?.type === "stall";
  response.writeHead(reply.status, { "content-type": reply.type });
  await writePieces(response, isCut ? body.subarray(0, Math.floor(fault.at * body.length)) : body, dice);
  if (fault?.type === "stall") return;
  if (fault?.type !== "cut" || fault.how === "end") response.end();
  else if (fault.how === "reset") response.socket?.resetAndDestroy();
  else response.destroy();
}
