/**
 * What every test file needs and no runtime gives in the same form: `test` registers with
 * `Deno.test` under Deno, so that its sanitizers apply, and with `node:test` under Node and Bun.
 *
 * @module
 */

import process from "node:process";

export { child, type ChildOptions, type ChildResult, type Runtime, runtimePath } from "./_child.ts";

/** How one test runs. */
export interface TestOptions {
  /**
   * Registers the test without running it.
   *
   * @default {false}
   */
  readonly ignore?: boolean;
  /**
   * The test fails when it has not ended after this time, in milliseconds.
   *
   * @default {60000}
   */
  readonly timeoutMs?: number;
  /**
   * Whether Deno looks for operations and resources left behind; other runtimes never do.
   *
   * @default {true}
   */
  readonly sanitize?: boolean;
}

/** The `test` function of this harness, as the transport suite takes it. */
export type TestFunction = (
  name: string,
  fn: () => void | Promise<void>,
  options?: TestOptions,
) => void;

interface DenoTest {
  readonly name: string;
  readonly ignore: boolean;
  readonly sanitizeOps: boolean;
  readonly sanitizeResources: boolean;
  fn(): Promise<void>;
}

const deno = (globalThis as { Deno?: { test(definition: DenoTest): void } }).Deno;
const node = deno === undefined ? await import("node:test") : undefined;

/** Runners get this much more than the test itself, so that the message is the harness's own. */
const RUNNER_MARGIN_MS = 5_000;

/** Registers a test with the runner of this runtime. */
export function test(
  name: string,
  fn: () => void | Promise<void>,
  options: TestOptions = {},
): void {
  const { ignore = false, timeoutMs = 60_000, sanitize = true } = options;
  const run = (): Promise<void> => withDeadline(name, fn, timeoutMs);
  if (deno !== undefined) {
    deno.test({ name, ignore, sanitizeOps: sanitize, sanitizeResources: sanitize, fn: run });
  } else {
    void node?.test(name, { skip: ignore, timeout: timeoutMs + RUNNER_MARGIN_MS }, run);
  }
}

async function withDeadline(
  name: string,
  fn: () => void | Promise<void>,
  timeoutMs: number,
): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`Cannot finish '${name}': it ran past ${timeoutMs} ms`)),
      timeoutMs,
    );
  });
  try {
    await Promise.race([fn(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** How long {@linkcode eventually} tries. */
export interface EventuallyOptions {
  /**
   * Longest time to try, in milliseconds.
   *
   * @default {30000}
   */
  readonly timeoutMs?: number;
}

/**
 * Repeats `check` until it neither throws nor gives `false`, and returns what it gave. The last
 * error is thrown when the time is over.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  options: EventuallyOptions = {},
): Promise<T> {
  const { timeoutMs = 30_000 } = options;
  const end = Date.now() + timeoutMs;
  for (let waitMs = 1;; waitMs = Math.min(waitMs * 2, 100)) {
    let failure: unknown;
    try {
      const value = await check();
      if (value !== false) return value;
      failure = new Error(`Cannot see the check become true within ${timeoutMs} ms`);
    } catch (error) {
      failure = error;
    }
    if (Date.now() >= end) throw failure;
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

/**
 * Says whether a test has to be skipped because something outside the repository is absent: the
 * result goes into `ignore`. With `BQ_REQUIRE_BROKERS=1` nothing may be absent, and a failing test
 * takes the place of the skipped one.
 *
 * @param name What the test needs, for instance `bun`.
 * @param available Whether it is there.
 * @param why Why it may be absent, or how to get it.
 */
export function requireOrSkip(name: string, available: boolean, why: string): boolean {
  if (available) return false;
  if (environment("BQ_REQUIRE_BROKERS") === "1") {
    test(`requires ${name}`, () => {
      throw new Error(`Cannot test without ${name}: ${why}`);
    });
  } else {
    console.warn(`skipped, needs ${name}: ${why}`);
  }
  return true;
}

/** An environment variable; undefined when it is unset or may not be read. */
export function environment(name: string): string | undefined {
  try {
    return process.env[name];
  } catch {
    return undefined;
  }
}
