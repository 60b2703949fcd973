import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: join(import.meta.dirname, "page"),
  // The chat of CopilotKit draws diagrams and formulas too, in files that are fetched when they are needed.
  build: { outDir: join(import.meta.dirname, "dist"), emptyOutDir: true, chunkSizeWarningLimit: 10_000 },
  plugins: [react()],
  server: { proxy: { "/api": "http://127.0.0.1:3000" } },
});
