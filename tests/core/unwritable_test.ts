import assert from "node:assert/strict";
import { EnvelopeCodec, readEnvelope } from "@bq/core";
import { test } from "../harness.ts";

const URN = "urn:babel:orders:created";

function nested(levels: number): object {
  let data: object = {};
  for (let level = 1; level < levels; level++) data = { a: data };
  return data;
}

test("data is refused at the depth at which nobody may read it, and not before", () => {
  const text = EnvelopeCodec.encode(EnvelopeCodec.make(URN, nested(999)));
  assert.equal(readEnvelope(text).verdict().verdict, "ok");
  for (const levels of [1_000, 5_000, 100_000]) {
    assert.throws(() => EnvelopeCodec.make(URN, nested(levels)), { code: "invalid_data" });
  }
});

test("data whose own code throws is refused as data", () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const values: object[] = [
    {
      toJSON() {
        throw new Error("no");
      },
    },
    { n: Object(5n) },
    { inner: proxy },
    proxy,
  ];
  for (const value of values) {
    assert.throws(() => EnvelopeCodec.make(URN, value), { code: "invalid_data" });
  }
});
