/** Runs a line of shell to its end, for what only the system's own programs can do. */

import { spawn } from "node:child_process";
import { environment } from "../harness.ts";

/**
 * What a program that installs or serves inherits. It is a list, so that Deno needs no permission
 * for the whole environment; a name that may not be read is left out.
 */
const INHERITED: readonly string[] = [
  "PATH",
  "HOME",
  "TMPDIR",
  "XDG_CACHE_HOME",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "PIP_CERT",
  "PIP_INDEX_URL",
  "HTTPS_PROXY",
  "https_proxy",
];

/** What became of a line of shell. */
export interface ShellResult {
  /** Exit code; 127 when there is no shell. */
  readonly code: number;
  /** Standard output. */
  readonly stdout: string;
  /** Standard error. */
  readonly stderr: string;
}

/** The environment of a child. */
export function childEnvironment(
  more: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of INHERITED) {
    const value = environment(name);
    if (value !== undefined) env[name] = value;
  }
  return { ...env, ...more };
}

/**
 * Runs `script` with `sh`.
 *
 * @param script The script.
 * @param args Its `$1`, `$2` …
 */
export function shell(script: string, ...args: readonly string[]): Promise<ShellResult> {
  return new Promise((resolve) => {
    const started = spawn("sh", ["-c", script, "sh", ...args], {
      env: childEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    started.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text);
    started.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text);
    started.on("error", (error) => resolve({ code: 127, stdout, stderr: error.message }));
    started.on("close", (code) => resolve({ code: code ?? 1, stdout, stderr }));
  });
}

/** Absolute path of a program on `PATH`, or null. */
export async function which(program: string): Promise<string | null> {
  const { code, stdout } = await shell('command -v "$1"', program);
  return code === 0 ? stdout.trim() : null;
}
