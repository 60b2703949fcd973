import { expect, test, vi } from "vitest";

test("without the package pg the store says what to install", async () => {
  vi.doMock("pg", () => {
    throw new Error("Cannot find package 'pg'");
  });
  const { postgresStore } = await import("./store.ts");
  const store = postgresStore("postgres://localhost/none");
  await expect(store.threads.count({})).rejects.toMatchObject({ code: "storage_io", message: expect.stringContaining("npm install pg") });
  await store.close();
  vi.doUnmock("pg");
});
