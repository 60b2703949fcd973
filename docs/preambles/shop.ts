// biome-ignore-all lint/correctness/noUnusedImports: the samples behind it use them
import assert from "node:assert/strict";
import type { AnyProvider, Runtime, RuntimeInit } from "awaken";
import { sqliteStore } from "awaken/sqlite";
import { scripted, text, ticketsOf, toolCall } from "awaken/testing";

declare const file: string;
declare function open(model: AnyProvider, store: RuntimeInit["store"]): Runtime;
