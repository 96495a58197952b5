/** The published Python SDK as a judge of bodies: one process, one answer a line. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { childEnvironment } from "../../brokers/_shell.ts";
import { python } from "../python.ts";

const PROGRAM = fileURLToPath(new URL("../peers/python_decode.py", import.meta.url));

/** What the Python SDK says about a body. */
export interface PythonAnswer {
  /** Its own poison rule. */
  readonly verdict: "ok" | "poison";
  /** What its `decode` gives: an envelope, an empty one, or the name of an error. */
  readonly decoded: string;
  readonly urn: string;
  readonly accepts: boolean;
  /** Members that its warnings name, sorted. */
  readonly warnings: readonly string[];
  /** Its copy with one more attempt, in base64; null when it is poison or cannot be written. */
  readonly retry: string | null;
}

/** A running judge. */
export interface PythonJudge {
  /** Asks about any number of bodies at once; the answers have their order. */
  judge(bodies: readonly Uint8Array[]): Promise<PythonAnswer[]>;
  /** Ends the process. */
  close(): Promise<void>;
}

interface Waiting {
  resolve(answer: PythonAnswer): void;
  reject(error: Error): void;
}

/** Starts a judge. */
export async function startJudge(): Promise<PythonJudge> {
  const env = childEnvironment({ PYTHONPATH: await python(), PYTHONDONTWRITEBYTECODE: "1" });
  const child = spawn("python3", [PROGRAM], { env, stdio: "pipe" });
  const waiting: Waiting[] = [];
  let errors = "";
  let ended = false;
  const fail = (): void => {
    ended = true;
    for (const { reject } of waiting.splice(0)) {
      reject(new Error(`Cannot ask the Python SDK: its process ended and wrote ${errors}`));
    }
  };
  const closed = new Promise<void>((resolve) => {
    child.on("error", (error) => (errors += error.message, fail(), resolve()));
    child.on("close", () => (fail(), resolve()));
  });
  child.stdin.on("error", () => {}); // its end is reported by "close"
  child.stderr.setEncoding("utf8").on("data", (text: string) => errors += text);
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const answer = JSON.parse(line) as PythonAnswer | { readonly error: string };
      const asked = waiting.shift();
      if ("error" in answer) asked?.reject(new Error(`The Python SDK failed: ${answer.error}`));
      else asked?.resolve(answer);
    }
  });
  return {
    async judge(bodies) {
      if (ended) throw new Error("Cannot ask the Python SDK: its process has ended");
      const answers = bodies.map(() =>
        new Promise<PythonAnswer>((resolve, reject) => waiting.push({ resolve, reject }))
      );
      child.stdin.write(bodies.map((body) => `${Buffer.from(body).toString("base64")}\n`).join(""));
      return await Promise.all(answers);
    },
    async close() {
      child.stdin.end();
      await closed;
    },
  };
}
