import assert from "node:assert/strict";
import { BabelQueueError, PublishUncertainError } from "@bq/core";
import { test } from "../harness.ts";
import { ended, URN, withApp } from "./_app.ts";
import { ScriptedTransport } from "./_scripted.ts";

/** An error as another copy of this library makes it, for instance of another version. */
function foreign(name: string, code: string, members: object = {}): Error {
  return Object.assign(new Error(`${code} of another copy`), { name, code, ...members });
}

test("an uncertain publish is uncertain, whichever copy of the library says so", async () => {
  const transport = new ScriptedTransport({
    publish: () => Promise.reject(foreign("PublishUncertainError", "publish_uncertain")),
  });
  await withApp({ transport }, async ({ bq }) => {
    await assert.rejects(bq.publish(URN, {}), PublishUncertainError);
    await assert.rejects(bq.publishMany([{ message: URN, data: {} }]), (error) => {
      const { results } = error as { results: readonly { status: string }[] };
      assert.deepEqual(results.map(({ status }) => status), ["uncertain"]);
      return true;
    });
  });
});

test("a failed write before the acknowledgement is one, whichever copy says so", async () => {
  const transport = new ScriptedTransport({
    settle: (_, { kind }) =>
      kind === "deadLetter"
        ? Promise.reject(foreign("SettleWriteError", "settle_write_failed"))
        : undefined,
  });
  await withApp({ transport, deadLetter: true, maxAttempts: 1 }, async ({ bq, clock, seen }) => {
    bq.handle(URN, () => assert.fail("no stock"));
    transport.put("shop");
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(transport.verdicts, ["deadLetter", "return"]);
    assert.equal(seen.of("writeFailed").length, 1);
  });
});

test("a fatal error ends connecting, whichever copy says so, and no other error with its code does", async () => {
  const rows: readonly (readonly [error: Error, final: boolean])[] = [
    [foreign("ConnectionError", "connection", { fatal: true }), true],
    [foreign("ConnectionError", "connection"), false],
    [foreign("BabelQueueError", "unsupported"), true],
    // A client's own error.
    [foreign("Error", "closed"), false],
    [new BabelQueueError("invalid_option", "no such thing"), true],
  ];
  for (const [error, final] of rows) {
    const transport = new ScriptedTransport({ open: () => Promise.reject(error) });
    await withApp({ transport, random: () => 0 }, async ({ bq, clock }) => {
      const connecting = bq.connect();
      await Promise.all([
        assert.rejects(connecting, (thrown) => thrown === error),
        ended(connecting.catch(() => {}), clock),
      ]);
      assert.equal(transport.opens === 1, final, error.message);
    });
  }
});

test("what a handler throws is obeyed, whichever copy it is of", async () => {
  const rows: readonly (readonly [error: Error, delivered: number, retriedAfter: number[]])[] = [
    [foreign("NonRetriableError", "non_retriable"), 1, []],
    [foreign("RetryAfterError", "retry_after", { delayMs: 70 }), 2, [70]],
    // A wait that is none takes the computed one.
    [foreign("RetryAfterError", "retry_after", { delayMs: NaN }), 2, [10]],
    [foreign("RetryAfterError", "retry_after", { delayMs: 5n }), 2, [10]],
    [foreign("RetryAfterError", "retry_after"), 2, [10]],
  ];
  for (const [error, delivered, retriedAfter] of rows) {
    const options = { deadLetter: true, maxAttempts: 2, retry: { baseMs: 10 } };
    await withApp(options, async ({ bq, clock, seen }) => {
      bq.handle(URN, () => {
        throw error;
      });
      await bq.publish(URN, {});
      await ended(bq.consume({ waitMs: 1_000 }), clock);
      assert.equal(seen.of("failed").length, delivered, error.message);
      assert.deepEqual(seen.of("retried").map(({ delayMs }) => delayMs), retriedAfter);
      assert.equal(seen.of("deadLettered").length, 1);
    });
  }
});
