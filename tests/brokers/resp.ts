/**
 * A Redis connection with nothing between: tests look at the server with it, whatever client the
 * transport under test has.
 *
 * @module
 */

import { connect, type Socket } from "node:net";

/** An answer. Texts are bytes; an error answer inside an array stands there as an `Error`. */
export type Answer = Uint8Array | string | number | null | Error | readonly Answer[];

const LF = 10;

/** One connection to a Redis server, speaking RESP2. */
export class RespClient {
  readonly #socket: Socket;
  readonly #waiting: { resolve(answer: Answer): void; reject(error: Error): void }[] = [];
  #buffer: Uint8Array = new Uint8Array(0);
  #failure: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk: Uint8Array) => this.#take(chunk));
    socket.on("error", (error: Error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("Cannot use the connection: it is closed")));
  }

  /** Connects to a port of 127.0.0.1. */
  static connect(port: number): Promise<RespClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1" });
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        resolve(new RespClient(socket));
      });
    });
  }

  /** Sends one command and resolves with its answer; an error answer rejects. */
  async call(...args: readonly (string | number | Uint8Array)[]): Promise<Answer> {
    if (this.#failure !== undefined) throw this.#failure;
    const parts = args.map((arg) =>
      arg instanceof Uint8Array ? Buffer.from(arg) : Buffer.from(String(arg))
    );
    const frame = [Buffer.from(`*${parts.length}\r\n`)];
    for (const part of parts) {
      frame.push(Buffer.from(`$${part.length}\r\n`), part, Buffer.from("\r\n"));
    }
    const answer = await new Promise<Answer>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#socket.write(Buffer.concat(frame));
    });
    if (answer instanceof Error) throw answer;
    return answer;
  }

  /** As `call`, for a command that answers with a text. */
  async text(...args: readonly (string | number | Uint8Array)[]): Promise<string> {
    const answer = await this.call(...args);
    return answer instanceof Uint8Array ? new TextDecoder().decode(answer) : String(answer);
  }

  /** As `call`, for a command that answers with a list of texts. */
  async list(...args: readonly (string | number | Uint8Array)[]): Promise<string[]> {
    const answer = await this.call(...args);
    if (!Array.isArray(answer)) throw new Error(`Cannot read a list: '${args[0]}' gave none`);
    return (answer as readonly Uint8Array[]).map((one) => new TextDecoder().decode(one));
  }

  /** Disconnects; what still waits rejects. */
  close(): Promise<void> {
    if (this.#socket.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#socket.once("close", () => resolve());
      this.#socket.destroy();
    });
  }

  #take(chunk: Uint8Array): void {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    let at = 0;
    for (;;) {
      const read = readAnswer(this.#buffer, at);
      if (read === undefined) break;
      at = read.end;
      this.#waiting.shift()?.resolve(read.answer);
    }
    this.#buffer = this.#buffer.subarray(at);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
  }
}

interface Read {
  readonly answer: Answer;
  readonly end: number;
}

/** Reads one answer, or gives undefined when it is not there to its end. */
function readAnswer(bytes: Uint8Array, start: number): Read | undefined {
  const lineEnd = bytes.indexOf(LF, start);
  if (lineEnd < 0) return undefined;
  const line = new TextDecoder().decode(bytes.subarray(start + 1, lineEnd - 1));
  const end = lineEnd + 1;
  switch (String.fromCharCode(bytes[start] ?? 0)) {
    case "+":
      return { answer: line, end };
    case "-":
      return { answer: new Error(line), end };
    case ":":
      return { answer: Number(line), end };
    case "$":
      return readText(bytes, end, Number(line));
    case "*":
      return readArray(bytes, end, Number(line));
    default:
      throw new Error(`Cannot read an answer of Redis: it begins with byte ${bytes[start]}`);
  }
}

function readText(bytes: Uint8Array, start: number, length: number): Read | undefined {
  if (length < 0) return { answer: null, end: start };
  const end = start + length + 2;
  if (end > bytes.length) return undefined;
  return { answer: bytes.slice(start, start + length), end };
}

function readArray(bytes: Uint8Array, start: number, length: number): Read | undefined {
  if (length < 0) return { answer: null, end: start };
  const answers: Answer[] = [];
  let end = start;
  for (let i = 0; i < length; i++) {
    const read = readAnswer(bytes, end);
    if (read === undefined) return undefined;
    answers.push(read.answer);
    end = read.end;
  }
  return { answer: answers, end };
}
