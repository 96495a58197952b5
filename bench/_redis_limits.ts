/** What the server itself can do with the same scripts, without any worker around them. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type ZsetKeys, zsetKeys } from "@bq/redis";
import { RespClient } from "../tests/brokers/mod.ts";
import type { Script } from "../transports/redis/_script.ts";
import { ZSET_WORK } from "../transports/redis/_lua_zset.ts";
import { dataOf } from "./_load.ts";

const run = promisify(execFile);

/** One way of reserving. */
export interface Reserve {
  readonly mode: "splice" | "cjson";
  /** Jobs a call. */
  readonly batch: number;
  /** Bytes of data beyond the smallest. */
  readonly pad: number;
}

/** The keys that the limits are measured on. */
export const KEYS: ZsetKeys = zsetKeys("limit", "bench:");
/** As the script takes them. */
export const NAMES: readonly string[] = [
  ...[KEYS.ready, KEYS.reserved, KEYS.notify, KEYS.delayed],
  `${KEYS.reserved}:scratch`,
];
const NOW = "1760000000";

/** Keys and arguments of a call that settles nothing. */
export function argumentsOf({ mode, batch }: Reserve): string[] {
  return [...NAMES, String(batch), NOW, "1760000090", "-1", "1", "262144", mode, ""];
}

/** A body a message; no two are alike. */
export function bodyOf(data: string, at: number): string {
  const id = String(at).padStart(12, "0");
  return `{"job":"urn:babel:orders:created","trace_id":"7b3f9c2a-e41d-4f88-9b2a-${id}",` +
    `"data":${data},"meta":{"id":"f1e2d3c4-b5a6-4789-90ab-${id}",` +
    `"queue":"orders","lang":"node","schema_version":1,"created_at":1749132727000},"attempts":0}`;
}

/** Fills the ready list. */
export async function fill(client: RespClient, count: number, pad: number): Promise<void> {
  await client.call("DEL", ...NAMES);
  const data = JSON.stringify(dataOf(pad));
  const page = Math.max(1, Math.min(1_000, Math.floor(1_000_000 / (pad + 300))));
  for (let at = 0; at < count; at += page) {
    const length = Math.min(page, count - at);
    const bodies = Array.from({ length }, (_, index) => bodyOf(data, at + index));
    await client.call("RPUSH", KEYS.ready, ...bodies);
    await client.call("RPUSH", KEYS.notify, ...bodies.map(() => "1"));
  }
}

/** Time that the server spends on one job, in microseconds, by its own count. */
export async function serverTime(port: number, reserve: Reserve, jobs: number): Promise<number> {
  const client = await RespClient.connect(port);
  try {
    await fill(client, jobs, reserve.pad);
    await client.call("SCRIPT", "LOAD", ZSET_WORK.source);
    await client.call("CONFIG", "RESETSTAT");
    const calls = Math.ceil(jobs / reserve.batch);
    for (let at = 0; at < calls; at += 16) {
      await Promise.all(
        Array.from({ length: Math.min(16, calls - at) }, () => call(client, ZSET_WORK, reserve)),
      );
    }
    const stats = await client.text("INFO", "commandstats");
    const spent = Number(/cmdstat_evalsha:calls=\d+,usec=(\d+)/.exec(stats)?.[1]);
    return spent / (jobs - Number(await client.call("LLEN", KEYS.ready)));
  } finally {
    await client.call("DEL", ...NAMES);
    await client.close();
  }
}

async function call(client: RespClient, script: Script, reserve: Reserve): Promise<void> {
  await client.call("EVALSHA", script.sha, NAMES.length, ...argumentsOf(reserve));
}

/**
 * What redis-benchmark reaches with the same script on one connection; jobs a second, or null where the
 * program is not installed.
 */
export async function benchmarkRate(
  port: number,
  reserve: Reserve,
  jobs: number,
  pipeline: number,
): Promise<number | null> {
  const client = await RespClient.connect(port);
  try {
    await fill(client, jobs, reserve.pad);
    await client.call("SCRIPT", "LOAD", ZSET_WORK.source);
    const calls = Math.floor(jobs / reserve.batch);
    const { stdout } = await run("redis-benchmark", [
      ...["-p", String(port), "-c", "1", "-P", String(pipeline), "-n", String(calls), "--csv"],
      ...["evalsha", ZSET_WORK.sha, String(NAMES.length), ...argumentsOf(reserve)],
    ]);
    const rate = Number(/","([0-9.]+)"/.exec(stdout.split("\n")[1] ?? "")?.[1]);
    return Number.isFinite(rate) ? rate * reserve.batch : null;
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return null;
    throw error;
  } finally {
    await client.call("DEL", ...NAMES);
    await client.close();
  }
}
