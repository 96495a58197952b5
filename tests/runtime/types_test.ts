/**
 * What the compiler has to know. `deno check` is the judge: an expected error that does not come is
 * an error. At run time it is enough that nothing here is wrong.
 */

import assert from "node:assert/strict";
import { BabelQueue, defineMessage, type Handler, type JsonObject, memory } from "@bq/core";
import type { HandlerContext, Middleware, PublishItem, StandardSchema } from "@bq/core";
import { z } from "zod";
import { test } from "../harness.ts";
import { URN } from "./_app.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;
function same<A, B>(_same: Same<A, B>): void {}

const Order = defineMessage(
  URN,
  z.object({ id: z.string().transform(Number), currency: z.string().default("EUR") }),
);

/** Never called: only its types count. */
async function compiles(bq: BabelQueue): Promise<void> {
  bq.handle(Order, (order, ctx) => {
    same<typeof order, { id: number; currency: string }>(true);
    same<typeof ctx, HandlerContext>(true);
    // @ts-expect-error: the schema's output has no such member
    order.total;
    void ctx.publish(Order, { id: "7" });
    // @ts-expect-error: the input is a text, the output a number
    void ctx.publish(Order, { id: 7 });
    // @ts-expect-error: what a handler is told cannot be changed
    ctx.attempt = 5;
    // @ts-expect-error: foreign headers cannot be changed
    ctx.headers.tenant = "7";
  });
  const effect: Promise<number | undefined> = ({} as HandlerContext).effect(() => 7);
  void effect;

  bq.handle(URN, (data) => {
    same<typeof data, JsonObject>(true);
  });
  // @ts-expect-error: a handler of other data than the schema gives
  bq.handle(Order, (order: { id: string }) => order);
  // @ts-expect-error: an unknown option
  bq.handle(Order, () => {}, { retries: 5 });

  await bq.publish(Order, { id: "7" });
  await bq.publish(Order, { id: "7", currency: "USD" }, { delayMs: 5, headers: { a: "1" } });
  // @ts-expect-error: the input lacks a member
  await bq.publish(Order, { currency: "USD" });
  // @ts-expect-error: the output's type is not the input's
  await bq.publish(Order, { id: 7 });
  // @ts-expect-error: the data does not widen the schema's input
  await bq.publish(Order, { id: "7", currency: 5 });
  await bq.publish(URN, { anything: [1n, null, { deep: true }] });
  // @ts-expect-error: data is an object
  await bq.publish(URN, "text");
  // @ts-expect-error: an unknown option
  await bq.publish(URN, {}, { delay: 5 });
  // @ts-expect-error: header values are texts
  await bq.publish(URN, {}, { headers: { tenant: 7 } });

  const ids: string[] = await bq.publishMany([{ message: Order, data: { id: "7" } }]);
  void ids;
  // @ts-expect-error: the input lacks a member
  await bq.publishMany([{ message: Order, data: {} }]);
  const item: PublishItem<{ id: string }> = { message: URN, data: { id: "7" } };
  void item;

  // @ts-expect-error: a strategy of the contract
  new BabelQueue(memory(), { onUnknownUrn: "deadLetter" });
  // @ts-expect-error: concurrency of one queue
  await bq.run({ queues: { shop: "8" } });
  const { handled }: { readonly handled: number } = await bq.consume();
  void handled;

  const timing: Middleware = async (ctx, next) => {
    same<typeof ctx, HandlerContext>(true);
    const nothing: void = await next();
    return nothing;
  };
  bq.use(timing);
  const shared: Handler<{ id: number }> = ({ id }) => id;
  bq.handle(Order, shared);
  bq.handle(URN, shared as Handler<never> as Handler);

  const transforms: StandardSchema<{ id: string }, { id: number }> = z.object({
    id: z.string().transform(Number),
  });
  defineMessage(URN, transforms);

  for await (const event of bq.events()) {
    if (event.type === "failed") {
      same<typeof event.error, unknown>(true);
      same<typeof event.attempt, number>(true);
      // @ts-expect-error: only a drop has a reason of its own
      event.reason;
    }
    if (event.type === "dropped") {
      same<typeof event.reason, "failed" | "unknown_urn" | "poison" | "gated">(true);
    }
  }
}

test("the types of data follow from the definition, on both sides", () => {
  assert.equal(typeof compiles, "function");
});
