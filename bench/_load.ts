/** What all workers have in common: the load, and how it is timed. */

/** What one measurement is about. */
export interface Load {
  readonly port: number;
  /** Messages. */
  readonly count: number;
  /** Handlers at a time. */
  readonly concurrency: number;
  /** Bytes of data beyond the smallest. */
  readonly pad: number;
}

/** The URN of every message. */
export const URN = "urn:babel:bench:order";

/** One way of working; gives messages a second, filling the queue not included. */
export type Peer = (load: Load) => Promise<number>;

const DATA = { order_id: 1042, customer: "c-77", total_cents: 12_990, paid: true };

/** About the length of an item, as JSON. */
const ITEM_BYTES = 105;

/** Data of about that many bytes beyond the smallest. */
export function dataOf(pad: number): object {
  if (pad < ITEM_BYTES) return DATA;
  const items = Array.from({ length: Math.floor(pad / ITEM_BYTES) }, (_, n) => ({
    sku: `A-${1_000 + n}`,
    title: `A plain title of some length ${n}`,
    quantity: n % 7,
    price_cents: 1_299 + 13 * n,
    active: n % 2 === 0,
  }));
  return { ...DATA, items };
}

/** Resolves after so many calls. */
export function countdown(
  count: number,
): { readonly done: Promise<void>; readonly tick: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  return { done: promise, tick: () => --left === 0 && resolve() };
}

/** Messages that are published at a time. */
export function* pages({ count, pad }: Load): Generator<number> {
  const page = Math.max(1, Math.min(500, Math.floor(500_000 / (pad + 1))));
  for (let at = 0; at < count; at += page) yield Math.min(page, count - at);
}

/** Time of `count` calls of which `width` are under way, in milliseconds. */
export async function inFlight(
  count: number,
  width: number,
  send: () => Promise<unknown>,
): Promise<number> {
  let left = count;
  const start = performance.now();
  await Promise.all(Array.from({ length: width }, async () => {
    while (left-- > 0) await send();
  }));
  return performance.now() - start;
}

/** Time until the handler is entered; the median, in milliseconds. */
export async function pickUp(
  times: number,
  publish: (handled: () => void) => Promise<unknown>,
): Promise<number> {
  const took: number[] = [];
  for (let at = 0; at < times; at++) {
    // Long enough for the worker to be idle again.
    await new Promise((resolve) => setTimeout(resolve, 15));
    const { promise, resolve } = Promise.withResolvers<void>();
    const start = performance.now();
    const sent = publish(resolve);
    await promise;
    took.push(performance.now() - start);
    await sent;
  }
  return median(took);
}

/** Messages a second. */
export function perSecond(count: number, tookMs: number): number {
  return count / tookMs * 1_000;
}

/** The middle one. */
export function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? NaN;
}
