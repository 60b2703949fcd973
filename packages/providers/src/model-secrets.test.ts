import { describe, expect, test } from "vitest";
import { fromAiSdk } from "./from-ai-sdk.ts";
import { headerSecrets, modelSecrets } from "./model-secrets.ts";
import { modelV3, modelV4 } from "./testing/models.ts";
import { failing } from "./testing/requests.ts";

const KEY = "made-up-key-0123456789";

test("credentials are told from other headers by their names", () => {
  const headers = { Authorization: `Bearer ${KEY}`, "x-api-key": "another-key", "content-type": "text/plain" };
  expect(headerSecrets(headers)).toEqual([`Bearer ${KEY}`, KEY, "another-key", "another-key"]);
});

describe("what a model shows of its credentials", () => {
  const withHeaders = (headers: unknown) => Object.assign(modelV4([]), { config: { headers } });

  test("headers, or a function that gives them, on its config", () => {
    expect(modelSecrets(withHeaders({ "x-api-key": KEY }))).toContain(KEY);
    expect(modelSecrets(withHeaders(() => ({ "x-api-key": KEY, "x-other-key": undefined })))).toEqual([KEY, KEY]);
  });

  test("nothing where there is nothing to see: no config, no key, credentials that are fetched", async () => {
    const missing = () => {
      throw new Error("no key");
    };
    const models = [
      modelV4([]),
      ...[undefined, "x", missing, () => Promise.resolve({ key: KEY }), () => Promise.reject(new Error())].map(withHeaders),
    ];
    expect(models.map(modelSecrets)).toEqual(models.map(() => []));
    await new Promise((resolve) => setImmediate(resolve)); // an unhandled rejection would fail the test
  });
});

test.each(["v4", "v3"] as const)("a %s model whose error quotes its own key, or a header of the call", async (version) => {
  const failed = () => Promise.reject(new Error(`bad key ${KEY}, bad token abcd-efgh`));
  const model = Object.assign(version === "v4" ? modelV4(failed) : modelV3(failed), {
    config: { headers: () => ({ authorization: `Bearer ${KEY}` }) },
  });
  const { error } = await failing(fromAiSdk(model, { headers: { "x-token": "abcd-efgh" } }));
  expect(error.failure.message).toBe("bad key ***, bad token ***");
});
