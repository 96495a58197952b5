import { Buffer } from "node:buffer";
import type { RedisReply } from "./client.ts";
import type { SettlePart } from "./_layout.ts";

const encoder: TextEncoder = new TextEncoder();
const decoder: TextDecoder = new TextDecoder();

/** What the script that settles and reserves has answered. */
export interface WorkReply {
  /** A letter a settle: `1` done, `0` gone, `e` failed. */
  readonly settles: string;
  /** Why nothing was reserved; empty when something could be. */
  readonly problem: string;
  /** A letter a job. */
  readonly kinds: string;
  /** The bodies, in the order of the jobs. */
  readonly bodies: readonly Uint8Array[];
  /** The texts of the settles that failed. */
  readonly errors: readonly string[];
}

/** Reads the answer. */
export function readWork(reply: RedisReply): WorkReply {
  const [results, problem, letters, ...rest] = reply as readonly RedisReply[];
  const settles = replyText(results);
  const failures = settles.length - settles.replaceAll("e", "").length;
  const bodies = rest.length - failures;
  return {
    settles,
    problem: replyText(problem),
    kinds: replyText(letters),
    bodies: (failures > 0 ? rest.slice(0, bodies) : rest).map(bytesOf),
    errors: failures > 0 ? rest.slice(bodies).map(replyText) : [],
  };
}

/** What is settled, as the script takes it: a plan, and every piece put together. */
export function packed(parts: readonly SettlePart[]): [plan: string, pieces: Uint8Array] {
  let plan = "";
  let length = 0;
  for (const { reserved, plan: part, payload } of parts) {
    plan += part;
    length += reserved.memberLength + (payload?.length ?? 0);
  }
  if (parts.length === 1 && plan.startsWith("a")) plan = "a";
  // From a pool, every byte of it written: a buffer of its own costs more than all of the rest here.
  const pieces = Buffer.allocUnsafe(length);
  let at = 0;
  for (const { reserved, payload } of parts) {
    reserved.writeMember(pieces, at);
    at += reserved.memberLength;
    if (payload !== undefined) {
      pieces.set(payload, at);
      at += payload.length;
    }
  }
  return [plan, pieces];
}

/** The member of a reservation by itself. */
export function memberOf({ reserved }: Pick<SettlePart, "reserved">): Uint8Array {
  const member = Buffer.allocUnsafe(reserved.memberLength);
  reserved.writeMember(member, 0);
  return member;
}

/** Bytes of a reply, as a plain view. */
export function bytesOf(reply: RedisReply | undefined): Uint8Array {
  if (!(reply instanceof Uint8Array)) return encoder.encode(String(reply ?? ""));
  return new Uint8Array(reply.buffer, reply.byteOffset, reply.length);
}

/** Text of a reply. */
export function replyText(reply: RedisReply | undefined): string {
  if (!(reply instanceof Uint8Array)) return String(reply ?? "");
  return reply.length === 0 ? "" : decoder.decode(reply);
}
