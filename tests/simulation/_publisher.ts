import { PublishManyError, PublishUncertainError } from "../../core/errors.ts";
import type { HandlerContext } from "../../runtime/context.ts";
import { CountedAbort } from "./_listeners.ts";
import {
  foreignBody,
  KNOWN_URNS,
  type Message,
  type MessageKind,
  UNKNOWN_URN,
} from "./_message.ts";
import type { Process } from "./_process.ts";
import { GATE_HEADER } from "./_publish.ts";

/** How long a publish that was called off may still be asked for what became of it, in milliseconds. */
const GRACE_MS = 1_000;
/** A history has no more messages than this. */
const MOST_MESSAGES = 60;

/** Publishes new messages, in every way the App has. */
export class Publisher {
  readonly #process: Process;

  constructor(process: Process) {
    this.#process = process;
  }

  /** One message of that kind, in the way that makes such a body; now and then it is called off. */
  one(kind: MessageKind, queue: string): void {
    const { app, world, alive } = this.#process;
    if (!alive) return;
    const { chance, messages } = world;
    const message = messages.make(kind, queue);
    const timeoutMs = chance.pick([200, 2_000, 30_000]);
    const options = {
      timeoutMs,
      delayMs: chance.hits(0.2) ? chance.pick([1, 300, 4_000]) : 0,
      ...(chance.hits(0.1) ? this.#calledOff() : {}),
    };
    const raw = kind !== "good" && !(kind === "unknown" && chance.hits(0.5));
    const urn = kind === "unknown" ? UNKNOWN_URN : chance.pick(KNOWN_URNS);
    const headers = kind === "gated" ? { headers: { [GATE_HEADER]: "2" } } : {};
    const promise = raw
      ? app.publishRaw(queue, foreignBody(message, chance.between(0, 29), queue), {
        ...options,
        ...headers,
      })
      : app.publish(urn, { serial: message.serial }, { queue, ...options });
    this.#follow(message, promise, timeoutMs);
  }

  /** Several good messages in one call. */
  many(queues: readonly string[]): void {
    const { app, world, alive, calls } = this.#process;
    if (!alive) return;
    const { chance, messages } = world;
    const batch = Array.from(
      { length: chance.between(2, 4) },
      () => messages.make("good", chance.pick(queues)),
    );
    const timeoutMs = chance.pick([200, 2_000]);
    const items = batch.map(({ serial, queue }) => ({
      message: chance.pick(KNOWN_URNS),
      data: { serial },
      queue,
    }));
    const label = `publishMany ${batch.map(({ serial }) => `#${serial}`).join(", ")}`;
    calls.follow(label, app.publishMany(items, { timeoutMs }), timeoutMs + GRACE_MS, (error) => {
      batch.forEach((message, i) => {
        const status = error instanceof PublishManyError ? error.results[i]?.status : undefined;
        if (error === undefined || status === "confirmed") message.published = "confirmed";
        else message.published = status === "uncertain" ? "uncertain" : "refused";
      });
    });
  }

  /** One good message from within a handler, which waits for it. */
  async inside(ctx: HandlerContext): Promise<void> {
    const { chance, messages } = this.#process.world;
    if (messages.all.length > MOST_MESSAGES) return;
    const message = messages.make("good", ctx.queue);
    const timeoutMs = chance.pick([200, 2_000]);
    const promise = ctx.publish(chance.pick(KNOWN_URNS), { serial: message.serial }, {
      queue: ctx.queue,
      timeoutMs,
    });
    this.#follow(message, promise, timeoutMs);
    await promise;
  }

  /** After the end a publish is refused at once. */
  afterClose(queue: string): void {
    const { app, world } = this.#process;
    const message = world.messages.make("good", queue);
    const promise = app.publish(KNOWN_URNS[0]!, { serial: message.serial }, { queue });
    this.#follow(message, promise, -GRACE_MS);
  }

  #calledOff(): { readonly signal: AbortSignal } {
    const { world, signals } = this.#process;
    const { chance, time } = world;
    const off = new CountedAbort();
    signals.push(off);
    if (chance.hits(0.1)) off.abort();
    else time.at(chance.pick([0, 5, 400]), () => off.abort());
    return { signal: off.signal };
  }

  #follow(message: Message, promise: Promise<unknown>, timeoutMs: number): void {
    const label = `publish #${message.serial} (${message.kind})`;
    this.#process.calls.follow(label, promise, timeoutMs + GRACE_MS, (error) => {
      if (error === undefined) message.published = "confirmed";
      else message.published = error instanceof PublishUncertainError ? "uncertain" : "refused";
    });
  }
}
