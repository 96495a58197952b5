import assert from "node:assert/strict";
import {
  type Clock,
  type Delivery,
  memory,
  type MemoryOptions,
  type MemoryTransport,
  type Outgoing,
  type SubscribeOptions,
  type Subscription,
} from "@bq/core";
import { sanitizeHeaders } from "@bq/core/transport";
import { type FakeClock, fakeClock } from "@bq/core/testing";

/** A memory transport on a clock that stands still. */
export interface Seam {
  readonly clock: FakeClock;
  readonly transport: MemoryTransport;
  readonly intake: AbortController;
  /** Publishes texts. */
  put(texts: readonly string[], options?: Omit<Outgoing, "body">): Promise<void>;
  subscribe(options?: Partial<SubscribeOptions>): Promise<Subscription>;
}

export const QUEUE = "shop";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

export function text(message: { readonly body: Uint8Array }): string {
  return decoder.decode(message.body);
}

export async function open(transport: MemoryTransport, clock: Clock): Promise<MemoryTransport> {
  await transport.open({
    clock,
    random: () => 0.5,
    bytes: (length) => new Uint8Array(length),
    emit: () => {},
  });
  return transport;
}

export async function seam(
  options: MemoryOptions = {},
  clock: FakeClock = fakeClock(),
): Promise<Seam> {
  const transport = await open(memory(options), clock);
  const intake = new AbortController();
  return {
    clock,
    transport,
    intake,
    async put(texts, more = {}) {
      // As the runtime does it: what a transport gets is sanitised.
      const clean = more.headers === undefined ? {} : { headers: sanitizeHeaders(more.headers) };
      const outcomes = await transport.publish(
        QUEUE,
        texts.map((each) => ({ ...more, ...clean, body: bytes(each) })),
      );
      assert.deepEqual(outcomes, texts.map(() => ({ status: "confirmed" })));
    },
    subscribe: (more = {}) =>
      transport.subscribe(QUEUE, {
        prefetch: 10,
        intake: intake.signal,
        lost: () => {},
        ...more,
      }),
  };
}

/** Receives what is there, which has to be exactly this; gives the deliveries. */
export async function receive(
  subscription: Subscription,
  texts: readonly string[],
  max: number = 10,
): Promise<readonly Delivery[]> {
  const came = await subscription.receive(max, 0);
  assert.deepEqual(came.map(text), texts);
  return came;
}
