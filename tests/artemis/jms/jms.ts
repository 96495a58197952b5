/** A plain JMS client as a child process. */

import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { childEnvironment } from "../../brokers/_shell.ts";
import { artemisJars } from "../../brokers/mod.ts";

const PROGRAM = fileURLToPath(new URL("JmsPeer.java", import.meta.url));

/** A message as a JMS consumer sees it. */
export type JmsMessage = Readonly<Record<string, string>>;

/** What a JMS producer sends. */
export interface JmsText {
  readonly type: string;
  readonly correlation: string;
  readonly text: string;
  readonly properties?: Readonly<Record<string, string>>;
}

const encode = (text: string): string => Buffer.from(text).toString("base64");

/** A running client. */
export class Jms {
  readonly #child: ChildProcess;
  readonly #closed: Promise<void>;
  readonly #lines: string[] = [];
  #wake: () => void = () => {};
  #ended = false;
  #errors = "";

  private constructor(jars: string, port: number) {
    const args = ["-XX:TieredStopAtLevel=1", "-cp", `${jars}/*`, PROGRAM];
    this.#child = spawn("java", [...args, `tcp://127.0.0.1:${port}`], {
      env: childEnvironment(),
      stdio: "pipe",
    });
    this.#closed = new Promise((resolve) => {
      const over = (): void => {
        this.#ended = true;
        this.#wake();
        resolve();
      };
      this.#child.on("error", over);
      this.#child.on("close", over);
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => this.#errors += text);
    let rest = "";
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      this.#lines.push(...lines);
      this.#wake();
    });
  }

  /** Starts one on a broker; resolves when it is connected. */
  static async start(port: number): Promise<Jms> {
    const jms = new Jms(await artemisJars(), port);
    await jms.#answer();
    return jms;
  }

  /** Takes the next message off a queue. */
  async receive(queue: string): Promise<JmsMessage> {
    const answer = await this.#ask(`receive ${queue}`);
    if (answer === "nothing") throw new Error(`Cannot receive from '${queue}': nothing came`);
    const entries = answer.split(" ").map((word): [string, string] => {
      const at = word.indexOf("=");
      return [word.slice(0, at), Buffer.from(word.slice(at + 1), "base64").toString()];
    });
    return Object.fromEntries(entries);
  }

  /** Sends a text message. */
  async send(queue: string, { type, correlation, text, properties = {} }: JmsText): Promise<void> {
    const words = [queue, encode(type), encode(correlation), encode(text)];
    const pairs = Object.entries(properties).map(([name, value]) => `${name}=${encode(value)}`);
    await this.#ask(["send", ...words, ...pairs].join(" "));
  }

  /** Ends it and waits for its end. */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    await this.#closed;
  }

  async #ask(line: string): Promise<string> {
    this.#child.stdin?.write(`${line}\n`);
    return await this.#answer();
  }

  async #answer(): Promise<string> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) return line;
      if (this.#ended) {
        throw new Error(`Cannot go on: the JMS client ended and wrote ${this.#errors}`);
      }
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }
}
