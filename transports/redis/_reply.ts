import type { RedisArgument, RedisReply } from "./client.ts";
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

/** What is settled, as the script takes it: a letter each, and then the arguments of each. */
export function settling(parts: readonly SettlePart[]): RedisArgument[] {
  let kinds = "";
  const args: RedisArgument[] = [""];
  for (const { reserved, kind, rest } of parts) {
    kinds += kind;
    args.push(reserved.member(), ...rest);
  }
  args[0] = kinds;
  return args;
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
