import type { Peeked, QueueSize } from "@bq/core/transport";
import type { RedisReply } from "./client.ts";
import type { Layout, QueueLayout } from "./_layout.ts";
import type { Link } from "./_link.ts";
import { SIZE } from "./_lua.ts";
import { bytesOf } from "./_reply.ts";

/** Messages that one look fetches. */
const PAGE = 16;

/** Counts a queue at one moment. */
export async function sizeOf(link: Link, { places }: QueueLayout): Promise<QueueSize> {
  const { ready, delayed, inFlight } = places;
  const keys = delayed === null ? [ready, inFlight] : [ready, inFlight, delayed];
  const reply = await link.run({ script: SIZE, keys, args: [] }) as readonly RedisReply[];
  return {
    ready: Number(reply[0]),
    delayed: delayed === null ? 0 : Number(reply[2]),
    inFlight: Number(reply[1]),
  };
}

/** Up to `max` messages where they stand: waiting, delayed, in flight. */
export async function* waiting(
  link: Link,
  { places, page }: QueueLayout,
  shown: Layout["shown"],
  max: number,
): AsyncGenerator<Peeked> {
  let left = max;
  const { ready, delayed, inFlight } = places;
  const looked = [["ready", ready], ["delayed", delayed], ["inFlight", inFlight]] as const;
  for (const [state, place] of looked) {
    if (place === null) continue;
    for (let start = 0; left > 0;) {
      const count = Math.min(PAGE, left);
      const reply = await link.call(page(place, start, start + count - 1), place);
      const members = (reply as readonly RedisReply[]).map(bytesOf);
      for (const member of members) yield { ...shown(member), state };
      start += members.length;
      left -= members.length;
      if (members.length < count) break;
    }
  }
}
