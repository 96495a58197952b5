/** Memory of a process that has worked off a queue. As a program: `<peer> <port> <count>`. */

import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const SELF = fileURLToPath(import.meta.url);

/** Resident bytes of a fresh process after `count` messages. */
export async function peakMemory(
  peer: "bullmq" | "zset",
  port: number,
  count: number,
): Promise<number> {
  const globals = globalThis as { Deno?: unknown };
  const args = globals.Deno ? ["run", "-A", "--no-check", SELF] : [SELF];
  const { stdout } = await run(process.execPath, [...args, peer, String(port), String(count)]);
  return Number(stdout.trim().split("\n").at(-1));
}

const [program, peer, port, count] = process.argv.slice(1);
if (
  program !== undefined && peer !== undefined && SELF.endsWith("_redis_memory.ts") &&
  program.endsWith("_redis_memory.ts")
) {
  const load = { port: Number(port), count: Number(count), concurrency: 50, pad: 0 };
  if (peer === "zset") await (await import("./_redis_ours.ts")).ours({ layout: "zset" })(load);
  else await (await import("./_redis_bull.ts")).bullmq(load);
  console.log(process.memoryUsage().rss);
  process.exit(0);
}
