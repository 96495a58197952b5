import type { BabelQueueOptions } from "../../runtime/options.ts";
import { equal } from "./_assert.ts";
import { bytes, envelope, URN } from "./_bodies.ts";
import type { SuiteTest } from "./_test.ts";
import type { App, World } from "./_world.ts";

/** A body that would be poison if it were read. */
const UNREAD = bytes("not json");

/** An App that works on one message whose native version is not supported. */
async function gated(world: World, options: BabelQueueOptions): Promise<App> {
  const app = world.app({ maxAttempts: 3, ...options });
  await world.harness.publishVersion?.(world.queue, UNREAD, "2");
  return app;
}

export const gateTests: readonly SuiteTest[] = [
  {
    title: "a message of a version that is not supported goes to the dead-letter queue unread",
    needs: "versionGate",
    async run(world) {
      const app = await gated(world, { deadLetter: true });
      const work = world.work(app);
      equal((await app.seen.waitFor("deadLettered")).reason, "gated", "the reason");
      await work.stop();
      equal(app.seen.of("gated").map(({ version }) => version), ["2"], "the versions");
      equal(app.seen.of("poison").length, 0, "the number of bodies that were read");
      const [record] = await world.takeOff(world.deadLetterQueue, 1);
      equal(record!.body, UNREAD, "the record");
      await world.expectEmpty();
    },
  },
  {
    title:
      "a message of a version that is not supported takes the broker's way without dead-lettering",
    needs: "versionGate",
    async run(world) {
      const app = await gated(world, { deadLetter: false });
      const work = world.work(app);
      switch (world.policy.gatedOff) {
        case "native":
          equal((await app.seen.waitFor("deadLettered")).reason, "native", "the reason");
          break;
        case "leave":
          await app.seen.waitFor("left");
          break;
        default:
          equal((await app.seen.waitFor("dropped")).reason, "gated", "the reason");
      }
      await work.stop();
      await world.expectEmpty(world.deadLetterQueue);
    },
  },
  {
    title: "a message of the supported version passes the gate",
    needs: "versionGate",
    async run(world) {
      const app = world.app({ deadLetter: true });
      app.bq.handle(URN, () => {});
      await world.harness.publishVersion?.(world.queue, bytes(envelope(world.queue)), "1");
      const work = world.work(app);
      await app.seen.waitFor("handled");
      await work.stop();
      equal(app.seen.of("gated").length, 0, "the number of messages that were gated");
    },
  },
  {
    title: "a delivery has a native version only where there is a gate",
    async run(world) {
      const { bq } = world.app();
      await bq.publish(URN, {});
      const [delivery] = await world.takeOff(world.queue, 1);
      const { schemaVersion } = delivery!;
      equal(
        world.features.versionGate,
        world.capabilities.versionGate,
        "the feature 'versionGate'",
      );
      if (world.capabilities.versionGate) equal(String(schemaVersion), "1", "the native version");
      else equal(schemaVersion, undefined, "the native version");
    },
  },
];
