/** Ties a broker to a test file: started before its first test, stopped after its last. */

import type { RunningBroker } from "./broker.ts";

type Hook = (fn: () => Promise<void>, options?: { timeout: number }) => void;

const deno = (globalThis as { Deno?: { test: { beforeAll: Hook; afterAll: Hook } } }).Deno;
const node = deno === undefined ? await import("node:test") : undefined;

/** Bun's own hooks: those of its `node:test` are cut off after five seconds, whatever they are told. */
interface BunHooks {
  beforeAll(fn: () => Promise<void>, timeoutMs: number): void;
  afterAll(fn: () => Promise<void>, timeoutMs: number): void;
}

const bunTest = "bun:test";
const bun: BunHooks | undefined = "Bun" in globalThis ? await import(bunTest) : undefined;

/** A runner's hook may take this long, in milliseconds. */
const TIMEOUT_MS = 120_000;

/**
 * Registers the start and the end of something that a whole test file uses.
 *
 * It has to be a hook and not the first test that needs it: Deno reports a process that a test leaves
 * running.
 */
export function aroundFile(before: () => Promise<void>, after: () => Promise<void>): void {
  if (deno !== undefined) {
    deno.test.beforeAll(before);
    deno.test.afterAll(after);
  } else if (bun !== undefined) {
    bun.beforeAll(before, TIMEOUT_MS);
    bun.afterAll(after, TIMEOUT_MS);
  } else {
    node?.before(before, { timeout: TIMEOUT_MS });
    node?.after(after, { timeout: TIMEOUT_MS });
  }
}

/**
 * Starts one broker for a test file.
 *
 * @param ignore Whether the file's tests are skipped; then nothing is started.
 * @param start Starts it.
 * @returns Gives the broker, inside tests.
 *
 * @example One Redis for the file
 * ```ts ignore
 * const ignore = await absentRedis();
 * const redis = brokerOfFile(ignore, () => startRedis());
 * test("answers", async () => { await connect(redis().url); }, { ignore });
 * ```
 */
export function brokerOfFile<Broker extends RunningBroker>(
  ignore: boolean,
  start: () => Promise<Broker>,
): () => Broker {
  let broker: Broker | undefined;
  if (!ignore) {
    aroundFile(
      async () => void (broker = await start()),
      async () => await broker?.stop(),
    );
  }
  return () => {
    if (broker === undefined) {
      throw new Error("Cannot use the broker of the file outside its tests");
    }
    return broker;
  };
}
