/**
 * Keeps one server process: it dies with its parent, however that dies, and its temporary folder
 * goes with it.
 *
 * Between the test and the server stands a small shell that reads a pipe. A parent that is killed
 * closes the pipe as well, so the shell sees the end in every case, on every runtime and thread.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { childEnvironment } from "./_shell.ts";

/**
 * Every line read starts the server, in a temporary folder that is its working directory; it waits
 * for the files of the starter, so that the end of the pipe never meets a server it does not know.
 */
const KEEPER = `
trap : INT TERM HUP
dir=$(mktemp -d "\${TMPDIR:-/tmp}/bq-broker.XXXXXX") || exit 1
cd "$dir" || exit 1
echo "folder $dir"
while read -r _; do
  rm -f .pid .ended
  (
    "$@" </dev/null >>.log 2>&1 &
    echo $! >.starting && mv .starting .pid
    echo "pid $!"
    exec 2>/dev/null
    wait $!
    code=$?
    touch .ended
    echo "ended $code"
  ) &
  until [ -f .pid ]; do sleep 0.01; done
done
[ ! -f .pid ] || [ -f .ended ] || kill -KILL "$(cat .pid)"
wait
cd / && rm -rf "$dir"
`;

/**
 * Runs the keeper as a grandchild: Deno kills its children when an error ends it that nobody caught,
 * and a keeper that is killed cannot end its server.
 */
const AWAY = `
trap : INT TERM HUP
exec 3<&0 0</dev/null
sh -c "$0" "$@" <&3 3<&- &
exec 3<&-
wait
`;

/** How much of the server's log an error message carries, in characters. */
const LOG_LENGTH = 2_000;

/** One server process and its folder. */
export class Keeper {
  readonly #child: ChildProcess;
  readonly #closed: Promise<void>;
  readonly #folder: Promise<string>;
  #pid: number | undefined;
  #started: ((pid: number) => void) | undefined;
  #ended: Promise<void> = Promise.resolve();
  #end: (() => void) | undefined;

  /**
   * Makes the folder; starts nothing yet.
   *
   * @param command The server's program and its arguments. It runs in the folder, so relative names
   * lie there.
   * @param env Environment variables beside the inherited ones.
   */
  constructor(command: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#child = spawn("sh", ["-c", AWAY, KEEPER, "keeper", ...command], {
      env: childEnvironment(env),
      stdio: ["pipe", "pipe", "inherit"],
    });
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#folder = promise;
    this.#folder.catch(() => {});
    this.#closed = new Promise((done) => {
      this.#child.on("error", (error) => (reject(error), done()));
      this.#child.on("close", () => {
        this.#end?.();
        reject(new Error(`Cannot keep '${command[0]}': no temporary folder could be made`));
        done();
      });
    });
    this.#child.stdin?.on("error", () => {}); // a keeper that is gone reports itself by its end
    let rest = "";
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#read(line, resolve);
    });
  }

  #read(line: string, folder: (path: string) => void): void {
    const [word, value = ""] = line.split(" ");
    if (word === "folder") return folder(value);
    if (word === "ended") return this.#end?.();
    this.#pid = Number(value);
    this.#started?.(this.#pid);
  }

  /** The server's working directory. */
  get folder(): Promise<string> {
    return this.#folder;
  }

  /** Process id of the server; undefined while none runs. */
  get pid(): number | undefined {
    return this.#pid;
  }

  /** Resolves when the server has ended; at once when none runs. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Starts the server; resolves with its process id, long before it answers. */
  async start(): Promise<number> {
    await this.#folder;
    if (this.#pid !== undefined) {
      throw new Error(`Cannot start the server: process ${this.#pid} still runs`);
    }
    this.#ended = new Promise((resolve) => {
      this.#end = (): void => {
        this.#pid = undefined;
        resolve();
      };
    });
    const started = new Promise<number>((resolve) => this.#started = resolve);
    this.#child.stdin?.write("start\n");
    return await started;
  }

  /** Sends the server a signal. Nothing happens when none runs. */
  signal(name: "SIGTERM" | "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
    if (this.#pid === undefined) return;
    try {
      process.kill(this.#pid, name);
    } catch (error) {
      // The server may end between the look at its id and the signal.
      if ((error as { code?: string }).code !== "ESRCH") throw error;
    }
  }

  /** What the server last wrote to its standard output and error. */
  async log(): Promise<string> {
    try {
      return readFileSync(`${await this.#folder}/.log`, "utf8").slice(-LOG_LENGTH);
    } catch {
      return "";
    }
  }

  /** Kills the server, removes the folder, and ends the keeper. */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    await this.#closed;
  }
}
