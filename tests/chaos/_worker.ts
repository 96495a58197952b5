/** A worker in a process of its own, and what it has said so far. */

import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { childEnvironment } from "../brokers/_shell.ts";
import { type Runtime, runtimePath } from "../harness.ts";
import type { WorkerPlan } from "./_plan.ts";

const PROGRAM = fileURLToPath(new URL("programs/worker.ts", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const START: Readonly<Record<Runtime, readonly string[]>> = {
  deno: ["run", "--no-prompt", "--allow-read", "--allow-env", "--allow-net=127.0.0.1"],
  bun: ["run"],
  node22: ["--disable-warning=ExperimentalWarning"],
  node24: [],
};

/** How a process ended. */
export interface Ended {
  /** Exit code; null when a signal ended it. */
  readonly code: number | null;
  /** Standard error. */
  readonly stderr: string;
}

/** A worker process. */
export class WorkerProcess {
  /** How often each serial was begun and done. */
  readonly begun: Map<number, number> = new Map();
  readonly done: Map<number, number> = new Map();
  /** The other lines: `started`, `stopping`, `stopped`, `closed`, and warnings behind `event`. */
  readonly lines: string[] = [];
  /** Resolves when it has ended. */
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #watches: Set<() => void> = new Set();

  private constructor(runtime: Runtime, plan: WorkerPlan) {
    const args = [...START[runtime], PROGRAM, JSON.stringify(plan)];
    const child = spawn(runtimePath(runtime) ?? runtime, args, {
      cwd: ROOT,
      env: childEnvironment({ NO_COLOR: "1" }),
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    let stderr = "";
    let rest = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#read(line);
    });
    this.ended = new Promise((resolve) => {
      child.on("error", (error) => resolve({ code: 127, stderr: error.message }));
      child.on("close", (code) => resolve({ code, stderr }));
    });
  }

  /** Starts a worker; resolves when it works. */
  static async start(plan: WorkerPlan, runtime: Runtime = "deno"): Promise<WorkerProcess> {
    const worker = new WorkerProcess(runtime, plan);
    await worker.until(() => worker.lines.includes("started"));
    return worker;
  }

  #read(line: string): void {
    const [word = "", serial = ""] = line.split(" ");
    const counts = word === "begun" ? this.begun : word === "done" ? this.done : undefined;
    if (counts === undefined) this.lines.push(line);
    else counts.set(Number(serial), (counts.get(Number(serial)) ?? 0) + 1);
    for (const watch of this.#watches) watch();
  }

  /** Resolves at the very line that makes `check` true; rejects when the worker ends before. */
  until(check: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const watch = (): void => {
        if (!check()) return;
        this.#watches.delete(watch);
        resolve();
      };
      this.#watches.add(watch);
      watch();
      void this.ended.then(({ code, stderr }) => {
        reject(new Error(`Cannot go on: a worker ended with ${code} and wrote '${stderr}'`));
      });
    });
  }

  /** Kills it in the moment when so many serials are done, with others under way. */
  async killAfter(count: number): Promise<void> {
    await this.until(() => this.done.size >= count);
    await this.kill();
  }

  /** Whether it has reported an event whose text matches. */
  saw(pattern: RegExp): boolean {
    return this.lines.some((line) => pattern.test(line));
  }

  /** Kills it, as a crash would. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.ended;
  }

  /** Asks it to stop, without waiting. */
  askToStop(): void {
    // Deno's own `kill` of a child would hide its exit code.
    if (this.#child.pid !== undefined) process.kill(this.#child.pid, "SIGTERM");
  }

  /** Asks it to stop and waits until it has ended by itself. */
  async stop(): Promise<Ended> {
    this.askToStop();
    return await this.ended;
  }
}
