import { type AssistantContent, type Message, perObject, type ToolDescriptor } from "@awaken/contract";

const PER_MESSAGE = 4;
const PER_PART = 50;
const PER_TOOL = 10;
const BYTES_PER_TOKEN = 4;

/** Bytes of the text in UTF-8, counted without encoding it. A lone surrogate counts as what an encoder puts in its place. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    if (unit < 0x800) {
      bytes += 1;
      continue;
    }
    bytes += 2;
    // Two units that make four bytes together.
    if (unit >= 0xd800 && unit < 0xdc00) {
      const next = text.charCodeAt(index + 1);
      if (next >= 0xdc00 && next < 0xe000) index += 1;
    }
  }
  return bytes;
}

const bytesToTokens = (bytes: number): number => Math.floor(bytes / BYTES_PER_TOKEN);

export const estimateText = (text: string): number => bytesToTokens(utf8Length(text));

/** What a part that is no text has to say in text. */
function partText(part: Exclude<AssistantContent, { type: "text" }>): string {
  switch (part.type) {
    case "reasoning":
      return part.text;
    case "tool-call":
      return part.name + JSON.stringify(part.input);
    case "tool-result":
      return part.name + JSON.stringify(part.output);
    default:
      return "";
  }
}

function measure(message: Message): number {
  let bytes = 0;
  let tokens = PER_MESSAGE;
  for (const part of message.content) {
    if (part.type === "text") bytes += utf8Length(part.text);
    else tokens += Math.max(PER_PART, estimateText(partText(part)));
  }
  return tokens + bytesToTokens(bytes);
}

/** A message never changes, so it is measured once in its life. */
export const estimateMessage = perObject(measure);

/** Of the messages from `start` to before `end`. */
export function estimateMessages(messages: readonly Message[], start = 0, end = messages.length): number {
  let tokens = 0;
  for (let index = start; index < end; index++) {
    const message = messages[index];
    if (message !== undefined) tokens += estimateMessage(message);
  }
  return tokens;
}

const estimateTool = perObject((tool: ToolDescriptor): number => {
  const bytes = utf8Length(tool.id) + utf8Length(tool.description) + utf8Length(JSON.stringify(tool.parameters));
  return bytesToTokens(bytes) + PER_TOOL;
});

export const estimateTools = (tools: readonly ToolDescriptor[]): number => tools.reduce((sum, tool) => sum + estimateTool(tool), 0);

/** What the instructions weigh, which travel beside the messages. */
export const estimateInstructions = (instructions: string): number => (instructions === "" ? 0 : PER_MESSAGE + estimateText(instructions));
