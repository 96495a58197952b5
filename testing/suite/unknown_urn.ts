import { equal } from "./_assert.ts";
import { text, URN } from "./_bodies.ts";
import type { SuiteTest } from "./_test.ts";

export const unknownUrnTests: readonly SuiteTest[] = [
  {
    title: "an unknown URN under 'fail' is tried again, then dead-lettered",
    async run(world) {
      const maxAttempts = world.attempts(2);
      const app = world.app({ deadLetter: true, maxAttempts });
      await app.bq.publish(URN, {});
      const work = world.work(app);
      equal((await app.seen.waitFor("deadLettered")).reason, "unknown_urn", "the reason");
      await work.stop();
      equal(app.seen.of("unknownUrn").length, maxAttempts, "the number of deliveries");
      const [record] = await world.takeOff(world.deadLetterQueue, 1);
      const { attempts, dead_letter } = JSON.parse(text(record!.body));
      equal(attempts, maxAttempts, "attempts");
      equal(dead_letter.attempts, maxAttempts, "dead_letter.attempts");
      equal(dead_letter.reason, "unknown_urn", "dead_letter.reason");
      equal(dead_letter.exception, "UnknownUrnError", "dead_letter.exception");
      await world.expectEmpty();
    },
  },
  {
    title: "an unknown URN under 'delete' is dropped, and that is told",
    async run(world) {
      const app = world.app({ deadLetter: true, onUnknownUrn: "delete" });
      await app.bq.publish(URN, {});
      const work = world.work(app);
      equal((await app.seen.waitFor("dropped")).reason, "unknown_urn", "the reason");
      await work.stop();
      await world.expectEmpty();
      await world.expectEmpty(world.deadLetterQueue);
    },
  },
  {
    title: "an unknown URN under 'release' is handled by the worker that knows it",
    async run(world) {
      const stranger = world.app({
        deadLetter: true,
        maxAttempts: 100,
        onUnknownUrn: "release",
        unknownUrnReleaseDelayMs: 200,
      });
      const id = await stranger.bq.publish(URN, { n: 1 });
      const work = world.work(stranger);
      await stranger.seen.waitFor("unknownUrn");
      await work.stop();
      const known = world.app({ deadLetter: true, maxAttempts: 100 });
      const handled: [string, number][] = [];
      known.bq.handle(URN, (_, ctx) => {
        handled.push([ctx.messageId, ctx.envelope.attempts]);
      });
      const working = world.work(known);
      await known.seen.waitFor("handled");
      await working.stop();
      equal(handled.map(([messageId]) => messageId), [id], "what was handled");
      if (world.policy.release === "unbounded") {
        equal(handled[0]![1], 0, "attempts in the body, which a release does not count");
      }
      await world.expectEmpty();
      await world.expectEmpty(world.deadLetterQueue);
    },
  },
  {
    title: "an unknown URN under 'dead_letter' is dead-lettered at once, uncounted",
    async run(world) {
      const app = world.app({ onUnknownUrn: "dead_letter" });
      await app.bq.publish(URN, {});
      const work = world.work(app);
      await app.seen.waitFor("deadLettered");
      await work.stop();
      const [record] = await world.takeOff(world.deadLetterQueue, 1);
      const { attempts, dead_letter } = JSON.parse(text(record!.body));
      equal(attempts, 0, "attempts");
      equal(dead_letter.attempts, 0, "dead_letter.attempts");
      equal(dead_letter.reason, "unknown_urn", "dead_letter.reason");
      equal(dead_letter.error, null, "dead_letter.error");
      equal(dead_letter.exception, null, "dead_letter.exception");
      await world.expectEmpty();
    },
  },
  {
    title: "an unknown URN under 'dead_letter' is dropped where dead-lettering is opted out",
    async run(world) {
      const app = world.app({ onUnknownUrn: "dead_letter", deadLetterQueue: null });
      await app.bq.publish(URN, {});
      const work = world.work(app);
      equal((await app.seen.waitFor("dropped")).reason, "unknown_urn", "the reason");
      await work.stop();
      await world.expectEmpty();
      await world.expectEmpty(world.deadLetterQueue);
    },
  },
  {
    title: "a URN that is the name of an object's member is a URN like any other",
    async run(world) {
      const app = world.app({ onUnknownUrn: "delete", deadLetter: true });
      const names = ["constructor", "__proto__", "toString"];
      for (const name of names) await app.bq.publish(name, {});
      const work = world.work(app);
      await app.seen.waitFor(() => app.seen.of("dropped").length === names.length);
      await work.stop();
      const unknown = app.seen.of("unknownUrn").map(({ urn }) => urn);
      equal(unknown.sort(), names.sort(), "the unknown URNs");
    },
  },
];
