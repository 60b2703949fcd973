import type { Runtime } from "awaken";

declare const runtime: Runtime;
