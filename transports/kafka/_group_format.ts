/** The bytes that the members of a group exchange about topics and partitions. */

import type { Assignment } from "./_assign.ts";

const encoder = new TextEncoder();

/** What a member sends when it joins: version 0, its topics, no data of its own. */
export function encodeSubscription(topics: readonly string[]): Uint8Array {
  return bytesOf((write) => {
    write.int16(0);
    write.int32(topics.length);
    for (const topic of topics) write.text(topic);
    write.int32(0);
  });
}

/** The topics of a member, of any version of the format: later ones only add to its end. */
export function decodeSubscription(bytes: Uint8Array): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const decoder = new TextDecoder();
  let at = 2;
  const topics = Array.from({ length: view.getInt32(at) }, () => "");
  at += 4;
  for (let index = 0; index < topics.length; index++) {
    const length = view.getInt16(at);
    topics[index] = decoder.decode(bytes.subarray(at + 2, at + 2 + length));
    at += 2 + length;
  }
  return topics;
}

/** What the leader sends to a member: version 0, its partitions. */
export function encodeAssignment(assignment: Assignment): Uint8Array {
  const topics = Object.keys(assignment);
  return bytesOf((write) => {
    write.int16(0);
    write.int32(topics.length);
    for (const topic of topics) {
      write.text(topic);
      write.int32(assignment[topic]!.length);
      for (const partition of assignment[topic]!) write.int32(partition);
    }
    write.int32(0);
  });
}

interface Writer {
  int16(value: number): void;
  int32(value: number): void;
  text(value: string): void;
}

function bytesOf(fill: (write: Writer) => void): Uint8Array {
  const bytes: number[] = [];
  const int16 = (value: number): void => void bytes.push(value >> 8 & 0xff, value & 0xff);
  fill({
    int16,
    int32: (value) => (int16(value >> 16), int16(value)),
    text(value) {
      const text = encoder.encode(value);
      int16(text.length);
      bytes.push(...text);
    },
  });
  return Uint8Array.from(bytes);
}
