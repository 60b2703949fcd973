// biome-ignore-all lint/correctness/noUnusedImports: the samples behind it use them
import { createRuntime, type Plugin, type RuntimeInit } from "awaken";

declare const audit: Plugin;
declare const rest: Pick<RuntimeInit, "providers" | "models">;
