import type { LanguageModelV3StreamPart, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { NoSuchModelError } from "@ai-sdk/provider";
import { afterEach, describe, expect, test, vi } from "vitest";
import { isAiSdkSource } from "./ai-sdk-source.ts";
import { fromAiSdk } from "./from-ai-sdk.ts";
import { finish, finishV3, modelV3, modelV4, streamOf } from "./testing/models.ts";
import { collect, failing, never, request, textOf } from "./testing/requests.ts";

const hello: LanguageModelV4StreamPart[] = [{ type: "text-delta", id: "1", delta: "hi" }, finish()];

afterEach(() => void vi.useRealTimers());

/** A stream that waits, and tells when it is given up. */
function waiting(...first: LanguageModelV4StreamPart[]) {
  const cancel = vi.fn();
  const stream = new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      for (const part of first) controller.enqueue(part);
    },
    cancel,
  });
  return { stream, cancel };
}

describe("sources", () => {
  test("a model object serves itself, whatever the request names", async () => {
    const provider = fromAiSdk(modelV4(hello, "vendor.chat"));
    expect(provider).toMatchObject({ name: "vendor.chat", canOverrideModel: false });
    expect(textOf(await collect(provider, { model: "other" }))).toBe("hi");
  });

  test("a provider is asked for the request's model, as an object or as a function", async () => {
    const asked: string[] = [];
    const languageModel = (id: string) => {
      asked.push(id);
      return modelV4(hello);
    };
    await collect(fromAiSdk({ languageModel }), { model: "a" });
    await collect(fromAiSdk(languageModel), { model: "b" });
    await collect(fromAiSdk(Object.assign(() => modelV4([]), { languageModel })), { model: "c" });
    expect(asked).toEqual(["a", "b", "c"]);
    expect(fromAiSdk(languageModel)).toMatchObject({ name: "ai-sdk" });
    expect(fromAiSdk(languageModel).canOverrideModel).toBeUndefined();
  });

  test("a provider that does not know the model", async () => {
    const provider = fromAiSdk((modelId) => {
      throw new NoSuchModelError({ modelId, modelType: "languageModel" });
    });
    expect((await failing(provider, { model: "m" })).error.failure.type).toBe("model-not-found");
  });

  test("specification versions are told by the object, and others are refused", async () => {
    const parts: LanguageModelV3StreamPart[] = [
      { type: "text-delta", id: "1", delta: "from v3" },
      { type: "file", mediaType: "image/png", data: new Uint8Array([104, 105]) },
      finishV3(),
    ];
    const model = modelV3(parts);
    expect(await collect(fromAiSdk(model))).toEqual([
      { type: "text-delta", delta: "from v3" },
      { type: "block-end" },
      { type: "content", content: { type: "image", source: { type: "base64", mediaType: "image/png", data: "aGk=" } } },
      { type: "stop", reason: "end-turn" },
    ]);
    const old = Object.assign(modelV4([]), { specificationVersion: String("v2") });
    expect(() => fromAiSdk(old)).toThrow("a model of AI SDK specification 'v2' cannot be used: v3 and v4 can");
    expect((await failing(fromAiSdk(() => old))).error.failure.type).toBe("invalid-request");
  });

  test("what is no model and no provider", () => {
    for (const value of [undefined, null, "gpt-5", {}, { stream() {} }]) expect(isAiSdkSource(value)).toBe(false);
  });
});

describe("calls", () => {
  test("a v3 model gets the effort in its vendor's words and no option that it does not know", async () => {
    const model = modelV3([{ type: "text-delta", id: "1", delta: "x" }, finishV3()], "openai.responses");
    await collect(fromAiSdk(model, { headers: { "x-a": "1" } }), { overrides: { reasoningEffort: "low" } });
    const [options] = model.calls;
    expect(options).not.toHaveProperty("reasoning");
    expect(options).toMatchObject({
      headers: { "x-a": "1" },
      providerOptions: { openai: { reasoningEffort: "low", reasoningSummary: "auto", store: false } },
    });
  });

  test("what could not be asked for is a warning before the answer", async () => {
    const parts = await collect(fromAiSdk(modelV3([{ type: "text-delta", id: "1", delta: "x" }, finishV3()])), {
      overrides: { reasoningEffort: "low" },
    });
    expect(parts[0]).toEqual({
      type: "warning",
      message: "reasoning effort 'low' was ignored: not known how to ask this vendor for it",
    });
  });

  test("an error part fails the stream after what came before it, with the usage that came", async () => {
    const parts: LanguageModelV4StreamPart[] = [
      { type: "text-delta", id: "1", delta: "a" },
      { type: "error", error: new Error("overloaded") },
      { type: "text-delta", id: "1", delta: "b" },
    ];
    const { error, parts: seen } = await failing(fromAiSdk(modelV4(parts)));
    expect(textOf(seen)).toBe("a");
    expect(error.failure).toEqual({ type: "overloaded", message: "overloaded" });
  });

  test("a model that throws at once", async () => {
    const model = modelV4(() => {
      throw new Error("no");
    });
    expect((await failing(fromAiSdk(model))).error.failure).toEqual({ type: "provider", message: "no" });
  });
});

describe("cancelling and leaving", () => {
  test("a cancelled signal calls nobody", async () => {
    const model = modelV4(hello);
    expect((await failing(fromAiSdk(model), {}, AbortSignal.abort())).error.failure.type).toBe("cancelled");
    expect(model.calls).toHaveLength(0);
  });

  test("a model that ignores the signal is left behind while it opens, and its late stream is closed", async () => {
    const { stream, cancel } = waiting();
    const late = Promise.withResolvers<{ stream: typeof stream }>();
    const controller = new AbortController();
    const asked = Promise.withResolvers<void>();
    const open = () => {
      asked.resolve();
      return late.promise;
    };
    const failed = failing(fromAiSdk(modelV4(open)), {}, controller.signal);
    await asked.promise;
    controller.abort();
    expect((await failed).error.failure.type).toBe("cancelled");
    late.resolve({ stream });
    await vi.waitFor(() => expect(cancel).toHaveBeenCalled());
  });

  test("a model that ignores the signal is left behind midway, even if nobody reads", async () => {
    const { stream, cancel } = waiting(...hello.slice(0, 1));
    const controller = new AbortController();
    const parts = (await fromAiSdk(modelV4(stream)).stream(request(), { signal: controller.signal }))[Symbol.asyncIterator]();
    await parts.next();
    controller.abort();
    expect(cancel).toHaveBeenCalledOnce();
    await expect(parts.next()).rejects.toMatchObject({ failure: { type: "cancelled" } });
    expect(await parts.next()).toEqual({ done: true, value: undefined });
  });

  test("leaving cancels the reader and the model's signal, and ends a read that waits", async () => {
    const { stream, cancel } = waiting();
    const model = modelV4(stream);
    const parts = (await fromAiSdk(model).stream(request(), { signal: never }))[Symbol.asyncIterator]();
    const read = parts.next();
    await parts.return?.();
    expect(await read).toEqual({ done: true, value: undefined });
    expect(cancel).toHaveBeenCalledOnce();
    expect(model.calls[0]?.abortSignal?.aborted).toBe(true);
  });

  test("a call leaves no listener on the caller's signal", async () => {
    const { signal } = new AbortController();
    const add = vi.spyOn(signal, "addEventListener");
    const remove = vi.spyOn(signal, "removeEventListener");
    await collect(fromAiSdk(modelV4(hello)), {}, signal);
    await failing(fromAiSdk(modelV4([])), {}, signal);
    expect(add).toHaveBeenCalledTimes(2);
    expect(remove.mock.calls.map(([, listener]) => listener)).toEqual(
      expect.arrayContaining(add.mock.calls.map(([, listener]) => listener)),
    );
  });
});

describe("time limit", () => {
  test("opening may take 120 s by default", async () => {
    vi.useFakeTimers();
    const failed = failing(fromAiSdk(modelV4(() => new Promise(() => undefined))));
    await vi.advanceTimersByTimeAsync(119_999);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect((await failed).error.failure).toEqual({ type: "timeout", message: "nothing received for 120 s" });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("each gap has the whole limit, and time between reads does not count", async () => {
    vi.useFakeTimers();
    const source = Promise.withResolvers<ReadableStreamDefaultController<LanguageModelV4StreamPart>>();
    const cancel = vi.fn();
    const stream = new ReadableStream<LanguageModelV4StreamPart>({ start: source.resolve, cancel });
    const parts = (await fromAiSdk(modelV4(stream), { timeoutMs: 1000 }).stream(request(), { signal: never }))[Symbol.asyncIterator]();
    const controller = await source.promise;
    for (const delta of ["a", "b"]) {
      const read = parts.next();
      await vi.advanceTimersByTimeAsync(900);
      controller.enqueue({ type: "text-delta", id: "1", delta });
      expect(await read).toMatchObject({ value: { delta } });
      await vi.advanceTimersByTimeAsync(5000);
    }
    const silent = parts.next();
    const outcome = expect(silent).rejects.toMatchObject({ failure: { type: "timeout" } });
    await vi.advanceTimersByTimeAsync(1000);
    await outcome;
    expect(cancel).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a finished answer does not wait for a connection that stays open", async () => {
    vi.useFakeTimers();
    const { stream, cancel } = waiting(...hello);
    const parts = collect(fromAiSdk(modelV4(stream)));
    await vi.advanceTimersByTimeAsync(1000);
    expect((await parts).at(-1)).toEqual({ type: "stop", reason: "end-turn" });
    expect(cancel).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a connection that breaks after the finish does not matter", async () => {
    const parts = hello.values();
    const pull = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>) => {
      const { done, value } = parts.next();
      if (done === true) controller.error(new Error("read ECONNRESET"));
      else controller.enqueue(value);
    };
    const stream = new ReadableStream({ pull }, { highWaterMark: 0 });
    expect((await collect(fromAiSdk(modelV4(stream)))).at(-1)).toEqual({ type: "stop", reason: "end-turn" });
  });
});

describe("load", () => {
  test("5,000 deltas come through whole", async () => {
    const deltas = Array.from(
      { length: 5000 },
      (_, index): LanguageModelV4StreamPart => ({ type: "text-delta", id: "1", delta: `${index} ` }),
    );
    const parts = await collect(fromAiSdk(modelV4(streamOf([...deltas, finish()]))));
    expect(textOf(parts).split(" ")).toHaveLength(5001);
    expect(parts).toHaveLength(5002);
  });
});
