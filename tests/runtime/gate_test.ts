import assert from "node:assert/strict";
import type { Delivery } from "@bq/core";
import { test } from "../harness.ts";
import { B0, bytes, ended, envelope, URN, withApp } from "./_app.ts";
import { ScriptedTransport } from "./_scripted.ts";

/** Hands out one delivery with a native version that nobody supports. */
async function gated(
  delivery: Partial<Delivery>,
  look: (transport: ScriptedTransport, events: readonly object[]) => void,
): Promise<void> {
  const transport = new ScriptedTransport();
  await withApp({ transport, deadLetter: true }, async ({ bq, clock, seen }) => {
    await bq.connect();
    bq.handle(URN, () => assert.fail("a gated message met a handler"));
    transport.put("shop", B0, { schemaVersion: "2", ...delivery });
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(seen.of("failed"), []);
    look(transport, seen.of("gated"));
  });
}

test("a gated message is told without anything that its body says, its count included", async () => {
  await gated({ body: bytes(envelope({ attempts: "5" })) }, (_, events) => {
    assert.deepEqual(events, [{
      level: "warn",
      type: "gated",
      version: "2",
      route: "babelqueue:unsupported-schema-version:2",
      queue: "shop",
      urn: "",
      messageId: "",
      attempt: 1,
    }]);
  });
});

test("a gated message is told with what its broker counted", async () => {
  await gated({ counting: { floor: 3 } }, (_, events) => {
    assert.deepEqual(events.map((event) => (event as { attempt: number }).attempt), [4]);
  });
});

test("a gated body is not looked at: one that cannot be read at all goes on as it is", async () => {
  const unreadable = new Proxy(bytes(B0), {
    get(target, name) {
      // A promise asks what it resolves with whether it is a promise.
      return name === "then" ? undefined : assert.fail(`'${String(name)}' was read of ${target}`);
    },
  });
  await gated({ body: unreadable }, ({ settled }, events) => {
    assert.equal(events.length, 1);
    assert.equal(settled.length, 1);
    const { verdict } = settled[0]!;
    assert.ok(verdict.kind === "deadLetter");
    assert.deepEqual([verdict.reason, verdict.queue], ["gated", "shop.dlq"]);
    assert.equal(verdict.record, unreadable);
  });
});

test("a gated event cuts a long version at 64 characters, in its route too", async () => {
  const rows: readonly [schemaVersion: unknown, version: string, route: string][] = [
    ["9".repeat(64), "9".repeat(64), "9".repeat(64)],
    ["9".repeat(65), `${"9".repeat(64)}...`, `${"9".repeat(64)}...`],
    ["\u{1f600}".repeat(65), `${"\u{1f600}".repeat(64)}...`, `${"%F0%9F%98%80".repeat(64)}...`],
    ["2 beta/ü", "2 beta/ü", "2%20beta%2F%C3%BC"],
    [true, "true", "true"],
  ];
  for (const [schemaVersion, version, route] of rows) {
    await gated({ schemaVersion }, (_, [event]) => {
      const told = event as { version: string; route: string };
      assert.equal(told.version, version);
      assert.equal(told.route, `babelqueue:unsupported-schema-version:${route}`);
    });
  }
});
