/**
 * The sections `artemis` and `version_gate_artemis` on a live broker: what a plain AMQP client sees of
 * a published envelope, what the gate sees of another client's, and how a gated message is settled.
 * Contract: X1, X11, X14, X15.
 *
 * @module
 */

import assert from "node:assert/strict";
import { versionGate } from "../../../../core/gate.ts";
import { eventually } from "../../../harness.ts";
import { inLab, type Lab, nativeText } from "../../../artemis/lab.ts";
import { isRecord, type JsonRecord, list, member, record, text } from "../json.ts";
import { AbsentServer, type CaseCheck } from "../run.ts";
import { checkGate } from "./counting.ts";
import { checkVersionGate } from "./settle.ts";

/** Annotation, properties, creation time and body of a published envelope. */
export const checkArtemisProjection: CaseCheck = async ({ value }, suite, servers) => {
  const url = await servers?.artemis?.();
  if (url === undefined) throw new AbsentServer("for want of an Artemis broker");
  const body = suite.read(text(value, "envelope_file"));
  await inLab(url, async (lab) => {
    const transport = await lab.transport();
    const [outcome] = await transport.publish(lab.queue, [{ body }]);
    assert.equal(outcome?.status, "confirmed");
    const [message = {}] = await lab.peer.receive(lab.queue);
    assert.equal(message.body, new TextDecoder().decode(body), "the body");
    const type = message.message_annotations?.[text(value, "jms_type_annotation")];
    assert.equal(type, text(value, "jms_type"), "the annotation");
    assert.equal(message.correlation_id, text(value, "correlation_id"), "the correlation id");
    const created = JSON.parse(new TextDecoder().decode(body)).meta.created_at;
    assert.deepEqual(message.creation_time, new Date(created), "the creation time");
    const properties = { ...record(value, "properties") };
    assert.deepEqual({ ...message.application_properties }, properties, "the properties");
  });
};

/** The gate on a value, and on what comes of it through a broker. */
export const checkArtemisGate: CaseCheck = async (item, suite, servers) => {
  await checkGate(item, suite, servers);
  const { value, parent } = item;
  const url = await servers?.artemis?.();
  if (url === undefined) return;
  const property = text(parent, "property");
  const body = new TextDecoder().decode(suite.read(text(parent, "fixture")));
  const properties = value["absent"] === true ? {} : { [property]: member(value, "value") };
  await inLab(url, async (lab) => {
    await lab.peer.send(lab.queue, { body, application_properties: properties });
    const subscription = await lab.subscribe(await lab.transport());
    const [delivery] = await subscription.receive(1, 10_000);
    assert.ok(delivery !== undefined, "nothing came");
    const expected = text(value, "expect") === "decode" ? "pass" : "gated";
    assert.equal(versionGate(delivery.schemaVersion), expected, "the gate behind a broker");
    await subscription.settle(delivery, { kind: "ack" });
  });
};

/** A worker on gated messages, beside what the library decides of them. */
export const checkArtemisVersionGate: CaseCheck = async (item, suite, servers) => {
  await checkVersionGate("artemis")(item, suite, servers);
  const url = await servers?.artemis?.();
  if (url === undefined) return;
  const bodies = list(item.parent, "incoming_bodies").map((incoming) => {
    assert.ok(isRecord(incoming), "an incoming body is no object");
    return text(incoming, "body");
  });
  await inLab(url, (lab) => settleGated(lab, item.value, bodies));
};

async function settleGated(lab: Lab, value: JsonRecord, bodies: readonly string[]): Promise<void> {
  const strategy = member(value, "on_unknown_urn") as "fail" | undefined;
  const attempts = member(value, "bq_attempts");
  for (const body of bodies) {
    await lab.peer.send(lab.queue, {
      body,
      application_properties: {
        bq_schema_version: "2",
        ...(attempts === undefined ? {} : { bq_attempts: attempts }),
      },
    });
  }
  if (member(value, "dlq_write") === "fails") await lab.forbidDead();
  const { bq, seen } = lab.app({
    deadLetter: text(value, "dead_letter") === "on",
    ...(strategy === undefined ? {} : { onUnknownUrn: strategy }),
  });
  await bq.consume({ maxMessages: bodies.length, waitMs: 10_000 });
  await bq.close();
  assert.equal(seen.of("gated").length, bodies.length, "the gated messages");
  const size = async (queue: string): Promise<number> =>
    (await (await lab.transport()).size(queue)).ready;
  switch (text(record(value, "expect"), "outcome")) {
    case "ack":
      // The broker counts an acknowledged message off a little later.
      await eventually(async () => await size(lab.queue) === 0);
      assert.equal(await size(lab.dead), 0, "what is left");
      return;
    case "dlq_raw": {
      const records = await lab.peer.receive(lab.dead, bodies.length);
      assert.deepEqual(records.map(nativeText), bodies, "the records");
      await eventually(async () => await size(lab.queue) === 0);
      return;
    }
    case "unsettled": {
      assert.equal(seen.of("writeFailed").length, bodies.length, "the failures that are told");
      const left = await lab.peer.receive(lab.queue, bodies.length);
      assert.deepEqual(left.map(nativeText).sort(), [...bodies].sort(), "what is left");
      assert.deepEqual(left.map((one) => one.delivery_count ?? 0), bodies.map(() => 0), "counts");
      return;
    }
    default:
      assert.fail("an outcome that the runner does not know");
  }
}
