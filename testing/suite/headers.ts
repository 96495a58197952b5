import { check, equal } from "./_assert.ts";
import type { HeaderCarrier } from "../../core/headers.ts";
import type { Delivery } from "../../runtime/transport.ts";
import { bytes, envelope, text, TRACEPARENT, URN } from "./_bodies.ts";
import type { SuiteTest } from "./_test.ts";

const REPLAY = "bq-replay-bypass";

export const headerTests: readonly SuiteTest[] = [
  {
    title: "headers travel beside the body, or are dropped in silence where there is no place",
    async run(world) {
      const { bq } = world.app();
      const headers = { traceparent: TRACEPARENT, tenant: "größe 7", empty: "", "": "nameless" };
      await bq.publish(URN, {}, { headers });
      const [delivery] = await world.takeOff(world.queue, 1);
      const wanted = world.capabilities.headers
        ? { traceparent: TRACEPARENT, tenant: "größe 7" }
        : {};
      equal(delivery!.headers, wanted, "the headers");
      equal(Object.getPrototypeOf(delivery!.headers), null, "the prototype of the headers");
      check(!text(delivery!.body).includes(TRACEPARENT), "no header is inside the body");
    },
  },
  {
    title: "blank headers are no headers",
    async run(world) {
      const { bq } = world.app();
      const body = bytes("any bytes: no header touches them");
      await bq.publishRaw(world.queue, body, { headers: { empty: "", "": "nameless" } });
      const [delivery] = await world.takeOff(world.queue, 1);
      equal(delivery!.headers, {}, "the headers");
      equal(delivery!.body, body, "the body");
    },
  },
  {
    title: "a message that goes on from another broker keeps its headers, under its own",
    async run(world) {
      const body = bytes(envelope(world.queue));
      const from: Delivery = {
        queue: "elsewhere",
        body,
        headers: { traceparent: "another", tenant: "7" },
        schemaVersion: undefined,
        counting: {},
      };
      const transport = await world.open();
      await transport.publish(world.queue, [{ body, from }]);
      await transport.publish(world.queue, [{ body, from, headers: { traceparent: TRACEPARENT } }]);
      const came = await world.takeOff(world.queue, 2);
      const wanted = [from.headers, { ...from.headers, traceparent: TRACEPARENT }]
        .map((headers) => world.capabilities.headers ? headers : {});
      const byTrace = (one: HeaderCarrier, two: HeaderCarrier): number =>
        `${one["traceparent"]}`.localeCompare(`${two["traceparent"]}`);
      equal(
        came.map(({ headers }) => headers).sort(byTrace),
        wanted.toSorted(byTrace),
        "the headers",
      );
    },
  },
  {
    title:
      "headers, the replay marker too, stay with a message that is retried, and no handler changes them",
    async run(world) {
      const app = world.app({ deadLetter: true });
      const came: [Record<string, string>, boolean][] = [];
      const effects: number[] = [];
      app.bq.handle(URN, async (_, ctx) => {
        // They are frozen: what a handler tries to do to them is lost.
        Reflect.set(ctx.headers, "added", "by the handler");
        Reflect.deleteProperty(ctx.headers, REPLAY);
        came.push([{ ...ctx.headers }, ctx.replay]);
        await ctx.effect(() => effects.push(ctx.attempt));
        if (came.length === 1 && world.policy.retry === "possible") throw new Error("fails once");
      });
      const headers = { traceparent: TRACEPARENT, [REPLAY]: "1" };
      await app.bq.publish(URN, {}, { headers });
      const work = world.work(app);
      await app.seen.waitFor("handled");
      await work.stop();
      const carried = world.capabilities.headers;
      const wanted = [carried ? headers : {}, carried];
      equal(came, came.map(() => wanted), "headers and replay of each delivery");
      equal(came.length, world.attempts(2), "the number of deliveries");
      equal(effects.length, carried ? 0 : came.length, "the number of effects that ran");
    },
  },
  {
    title: "headers, but not the replay marker, go into the dead-letter record",
    async run(world) {
      const app = world.app({ deadLetter: true, maxAttempts: 1 });
      app.bq.handle(URN, () => {
        throw new Error("fails always");
      });
      const headers = { traceparent: TRACEPARENT, [REPLAY]: "1" };
      await app.bq.publish(URN, {}, { headers });
      await app.bq.publishRaw(world.queue, bytes("not json"), { headers });
      const work = world.work(app);
      await app.seen.waitFor(() => app.seen.of("deadLettered").length === 2);
      await work.stop();
      const wanted = world.capabilities.headers ? { traceparent: TRACEPARENT } : {};
      for (const record of await world.takeOff(world.deadLetterQueue, 2)) {
        equal(record.headers, wanted, "the headers of the record");
      }
    },
  },
  {
    title: "what a handler publishes continues the trace and carries no header by itself",
    async run(world) {
      const app = world.app({ deadLetter: true });
      const next = await world.harness.queue();
      app.bq.handle(URN, async (_, ctx) => {
        await ctx.publish(`${URN}:next`, {}, { queue: next });
      });
      await app.bq.publish(URN, {}, {
        traceId: "trace-7",
        headers: { traceparent: TRACEPARENT, [REPLAY]: "1" },
      });
      const work = world.work(app);
      await app.seen.waitFor("handled");
      await work.stop();
      const [follower] = await world.takeOff(next, 1);
      equal(JSON.parse(text(follower!.body)).trace_id, "trace-7", "its trace_id");
      equal(follower!.headers, {}, "its headers");
    },
  },
];
