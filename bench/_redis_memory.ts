/**
 * Memory of a process that has worked off a queue, which another one has filled. As a program:
 * `fill|work <peer> <port> <count> <queue>`.
 */

import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const SELF = fileURLToPath(import.meta.url);

/** Resident bytes of a fresh worker after `count` messages. */
export async function memoryAfter(
  peer: "bullmq" | "zset",
  port: number,
  count: number,
): Promise<number> {
  const globals = globalThis as { Deno?: unknown };
  const args = globals.Deno ? ["run", "-A", "--no-check", SELF] : [SELF];
  const about = [peer, String(port), String(count), `m-${crypto.randomUUID()}`];
  await run(process.execPath, [...args, "fill", ...about]);
  const { stdout } = await run(process.execPath, [...args, "work", ...about]);
  return Number(stdout.trim().split("\n").at(-1));
}

const [program, verb, peer, port, count, queue = ""] = process.argv.slice(1);
if (program?.endsWith("_redis_memory.ts") && verb !== undefined) {
  const load = { port: Number(port), count: Number(count), concurrency: 50, pad: 0 };
  if (peer === "zset") {
    const { drainOurs, fillOurs } = await import("./_redis_ours.ts");
    await (verb === "fill" ? fillOurs : drainOurs)(queue, load, { layout: "zset" });
  } else {
    const { drainBull, fillBull } = await import("./_redis_bull.ts");
    await (verb === "fill" ? fillBull : drainBull)(queue, load);
  }
  console.log(process.memoryUsage().rss);
  process.exit(0);
}
