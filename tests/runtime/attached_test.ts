import assert from "node:assert/strict";
import { Attached } from "@bq/core/transport";
import { test } from "../harness.ts";

test("what is attached stays with the object, and with no copy of it", () => {
  const attached = new Attached<object, number>();
  for (const make of [() => ({}), () => Object.freeze({}), () => Object.create(null)]) {
    const owner: object = make();
    assert.equal(attached.get(owner), undefined);
    attached.set(owner, 1);
    attached.set(owner, 2);
    assert.equal(attached.get(owner), 2);
    assert.equal(attached.get({ ...owner }), undefined);
    assert.equal(attached.get(Object.create(owner)), undefined);
    assert.equal(new Attached<object, number>().get(owner), undefined);
    assert.equal(JSON.stringify(owner), "{}");
  }
});

test("what is attached stays with an object that is frozen later", () => {
  const attached = new Attached<object, number>();
  const owner = {};
  attached.set(owner, 1);
  Object.freeze(owner);
  assert.equal(attached.get(owner), 1);
  attached.set(owner, 2);
  assert.equal(attached.get(owner), 2);
});
