import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: join(import.meta.dirname, "page"),
  build: { outDir: join(import.meta.dirname, "dist"), emptyOutDir: true },
  // The packages as they are in this repository, without a build of them.
  resolve: { conditions: ["awaken-source"] },
  plugins: [react()],
  server: { proxy: { "/api": "http://127.0.0.1:3000" } },
});
