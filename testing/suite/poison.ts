import type { OffRoute } from "../../runtime/policy.ts";
import { inject } from "../inject.ts";
import { check, equal } from "./_assert.ts";
import { bytes, envelope, text, URN } from "./_bodies.ts";
import type { SuiteTest } from "./_test.ts";
import { type App, eventually, type World } from "./_world.ts";
import type { BabelQueueOptions } from "../../runtime/options.ts";

/** Deliveries that a poison message gets where it is retried. */
const MAX_ATTEMPTS = 2;

/** Bodies that no handler may see; the objects among them keep their shape in the record. */
function poisonBodies(world: World): Uint8Array[] {
  const ok = envelope(world.queue);
  const bodies = [
    "not json",
    "[1,2]",
    '{"x":1}',
    '{"x" : 1, "dead_letter":{}}',
    ok.slice(0, -1),
    ok.replace('"attempts":0', '"attempts":1.0'),
    ok.replace('"attempts":0', '"attempts":"0"'),
    ok.replace('"data":{}', '"data":{"n":1e400}'),
    ok.replace('"data":{}', '"data":[]'),
    ok.replace(URN, " "),
    envelope(world.queue, { version: 2 }),
  ].map(bytes);
  if (world.features.binaryBodies) bodies.push(Uint8Array.of(0x7b, 0xff, 0x00, 0x7d));
  return bodies;
}

/** What is to become of poison under these options. Contract: C152–C154. */
function routeOf(world: World, options: BabelQueueOptions): OffRoute {
  const { poison } = world.policy;
  if (options.onUnknownUrn === "delete" && poison.deletable) return "drop";
  if (options.deadLetter) return "deadLetter";
  return poison.off === "retry" && world.policy.retry === "impossible" ? "drop" : poison.off;
}

async function expectRecords(world: World, bodies: readonly Uint8Array[]): Promise<void> {
  const wanted = new Map(bodies.map((body) => [contentOf(body), body]));
  for (const { body } of await world.takeOff(world.deadLetterQueue, bodies.length)) {
    const record = text(body);
    const { raw, raw_encoding, dead_letter } = JSON.parse(record);
    equal(dead_letter.reason, "poison", "the reason");
    equal(dead_letter.original_queue, world.queue, "original_queue");
    equal(raw_encoding === undefined || raw_encoding === "base64", true, "a known raw_encoding");
    const content = raw ?? record.slice(0, record.lastIndexOf(',"dead_letter":')) + "}";
    check(wanted.delete(content), `the record holds one of the bodies, once: ${record}`);
  }
}

/** What a record holds of a body: its text, or the base64 of what is no text. */
function contentOf(body: Uint8Array): string {
  const plain = text(body);
  return plain.includes("\ufffd") ? btoa(String.fromCharCode(...body)) : plain;
}

/** Every body has ended on its route, as the events tell. */
function settled({ seen }: App, route: OffRoute, count: number): boolean {
  switch (route) {
    case "deadLetter":
      return seen.of("deadLettered").filter(({ reason }) => reason === "poison").length >= count;
    case "native":
      return seen.of("deadLettered").filter(({ reason }) => reason === "native").length >= count;
    case "leave":
      return seen.of("left").length >= count;
    case "drop":
    case "retry":
      return seen.of("dropped").filter(({ reason }) => reason === "poison").length >= count;
  }
}

function poisonTest(title: string, options: BabelQueueOptions): SuiteTest {
  return {
    title,
    async run(world) {
      const route = routeOf(world, options);
      const app = world.app({ maxAttempts: MAX_ATTEMPTS, ...options });
      let handled = 0;
      app.bq.handle(URN, () => {
        handled++;
      });
      const bodies = poisonBodies(world);
      for (const body of bodies) await inject(app.bq, world.queue, body);
      await app.bq.publish(URN, {});
      const work = world.work(app);
      await eventually(
        `every poison message ends as '${route}' and the good one is handled`,
        () => settled(app, route, bodies.length) && handled > 0,
      );
      await work.stop();
      equal(handled, 1, "the number of messages that met the handler");
      equal(app.seen.of("unknownUrn").length, 0, "the number of unknown URNs");
      const deliveries = route === "retry" ? MAX_ATTEMPTS : 1;
      if (route !== "leave") {
        equal(app.seen.of("poison").length, deliveries * bodies.length, "the poison deliveries");
        await world.expectEmpty();
      }
      if (route === "deadLetter") await expectRecords(world, bodies);
      await world.expectEmpty(world.deadLetterQueue);
    },
  };
}

export const poisonTests: readonly SuiteTest[] = [
  poisonTest("poison is kept whole in a record", { deadLetter: true }),
  poisonTest("poison without dead-lettering takes the broker's own way", { deadLetter: false }),
  poisonTest("poison is dropped where unknown URNs are deleted, if the broker lets go of it", {
    deadLetter: true,
    onUnknownUrn: "delete",
  }),
  poisonTest("poison is never released", { deadLetter: true, onUnknownUrn: "release" }),
];
