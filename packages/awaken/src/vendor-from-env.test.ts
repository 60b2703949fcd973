import { describe, expect, it } from "vitest";
import { defineConfig, vendorFromEnv } from "./config.ts";
import { scripted } from "./testing.ts";

const demo = scripted([]);
const otherwise = { provider: demo, model: "demo" };

describe("vendorFromEnv", () => {
  it("takes the model that needs no key when there is none", async () => {
    for (const env of [{}, { OPENAI_API_KEY: " " }, { OPENAI_API_KEY: "k", AWAKEN_MODEL: "demo" }]) {
      expect(await vendorFromEnv({ env, otherwise })).toEqual({ vendor: "demo", provider: demo, model: "demo" });
    }
  });

  it("takes the first vendor whose key is there", async () => {
    const env = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GOOGLE_GENERATIVE_AI_API_KEY: "k" };
    expect(await vendorFromEnv({ env, otherwise })).toMatchObject({ vendor: "openai", provider: { name: "openai" } });
    const { OPENAI_API_KEY: _, ...rest } = env;
    expect(await vendorFromEnv({ env: rest, models: { anthropic: "claude-x" }, otherwise })).toMatchObject({
      vendor: "anthropic",
      model: "claude-x",
      provider: { name: "anthropic" },
    });
  });

  it("AWAKEN_MODEL chooses vendor and model, or only the vendor", async () => {
    const env = { OPENAI_API_KEY: "k", GOOGLE_GENERATIVE_AI_API_KEY: "k" };
    expect(await vendorFromEnv({ env: { ...env, AWAKEN_MODEL: "google/models/gemini-x" }, otherwise })).toMatchObject({
      vendor: "google",
      model: "models/gemini-x",
    });
    expect(await vendorFromEnv({ env: { ...env, AWAKEN_MODEL: "google" }, models: { google: "g" }, otherwise })).toMatchObject({
      model: "g",
    });
  });

  it("says what is wrong with AWAKEN_MODEL", async () => {
    await expect(vendorFromEnv({ env: { AWAKEN_MODEL: "acme/x" }, otherwise })).rejects.toThrow(
      "AWAKEN_MODEL is 'acme/x': expected demo, or one of openai, anthropic, google with a model",
    );
    await expect(vendorFromEnv({ env: { AWAKEN_MODEL: "openai/x" }, otherwise })).rejects.toMatchObject({
      code: "config_validation_failed",
      message: "AWAKEN_MODEL asks for openai, and OPENAI_API_KEY is not set",
    });
  });
});

describe("defineConfig", () => {
  it("gives back what it was given", () => {
    const config = { agents: { a: { model: "m" } } };
    expect(defineConfig(config)).toBe(config);
  });
});
