/**
 * A TCP proxy that does to a connection what networks do: cut, stall, delay.
 *
 * @module
 */

import { createServer, type Server, Socket } from "node:net";

/** Which answer is cut off. */
export interface CutOptions {
  /**
   * Picks the request by the bytes of one chunk as it came from the client; the first that comes
   * when absent.
   *
   * @default {undefined}
   */
  readonly request?: (bytes: Uint8Array) => boolean;
}

/** A running proxy on 127.0.0.1. */
export interface Proxy {
  /** Where clients connect to. */
  readonly port: number;
  /** How many connections are open. */
  readonly connections: number;
  /** Cuts every connection. New ones are taken. */
  cut(): void;
  /**
   * Lets the next request through to the server and cuts its connection in place of the answer.
   * Resolves when it was cut: the server has done what was asked, the client cannot know.
   */
  cutAnswer(options?: CutOptions): Promise<void>;
  /** Holds all bytes, in both directions; connections stay open and new ones are taken. */
  stall(): void;
  /** Cuts every connection, and new ones at once: nobody gets through. */
  refuse(): void;
  /** Ends what `stall` or `refuse` began; what was held flows on. */
  resume(): void;
  /** Holds every request, and every answer, this long, in milliseconds. */
  delay(requestMs: number, answerMs?: number): void;
  /** Cuts everything and stops listening. */
  close(): Promise<void>;
}

interface Pending {
  readonly request: (bytes: Uint8Array) => boolean;
  done(): void;
}

/** What all links of a proxy share. */
interface State {
  stalled: boolean;
  refusing: boolean;
  requestMs: number;
  answerMs: number;
  cuts: Pending[];
}

/** Starts a proxy to a port of 127.0.0.1. */
export async function startProxy(targetPort: number): Promise<Proxy> {
  const state: State = { stalled: false, refusing: false, requestMs: 0, answerMs: 0, cuts: [] };
  const links: Set<Link> = new Set();
  const server = createServer((client) => {
    if (state.refusing) return void client.destroy();
    const link = new Link(client, targetPort, state, () => links.delete(link));
    links.add(link);
  });
  const port = await listen(server);
  const cut = (): void => links.forEach((link) => link.cut());
  return {
    port,
    get connections(): number {
      return links.size;
    },
    cut,
    cutAnswer({ request = () => true }: CutOptions = {}): Promise<void> {
      return new Promise((done) => state.cuts.push({ request, done }));
    },
    stall(): void {
      state.stalled = true;
    },
    refuse(): void {
      state.refusing = true;
      cut();
    },
    resume(): void {
      state.stalled = state.refusing = false;
      links.forEach((link) => link.flow());
    },
    delay(requestMs: number, answerMs: number = 0): void {
      Object.assign(state, { requestMs, answerMs });
    },
    close(): Promise<void> {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      state.refusing = true;
      cut();
      return closed;
    },
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port: 0, host: "127.0.0.1" }, () => {
      const address = server.address();
      if (address === null || typeof address === "string") {
        reject(new Error("Cannot start a proxy: it has no port"));
      } else {
        resolve(address.port);
      }
    });
  });
}

/** One client's connection and the one to the server that belongs to it. */
class Link {
  readonly #client: Socket;
  readonly #upstream: Socket = new Socket();
  readonly #state: State;
  readonly #requests: Lane;
  readonly #answers: Lane;
  readonly #onEnd: () => void;
  #cutting: Pending | undefined;
  #ended = false;

  constructor(client: Socket, targetPort: number, state: State, onEnd: () => void) {
    this.#client = client;
    this.#state = state;
    this.#onEnd = onEnd;
    this.#requests = new Lane(this.#upstream, state, () => state.requestMs);
    this.#answers = new Lane(client, state, () => state.answerMs);
    client.setNoDelay(true);
    client.on("error", () => {}); // followed by "close"
    client.on("close", () => {
      if (this.#cutting === undefined) this.cut();
    });
    this.#upstream.setNoDelay(true);
    this.#upstream.on("error", () => {});
    this.#upstream.on("close", () => this.cut());
    client.on("data", (bytes: Uint8Array) => {
      this.#arm(bytes);
      this.#requests.push(bytes);
    });
    this.#upstream.on("data", (bytes: Uint8Array) => {
      if (this.#cutting === undefined) this.#answers.push(bytes);
      else this.#cutAnswer();
    });
    this.#upstream.connect({ port: targetPort, host: "127.0.0.1" });
  }

  /** Lets held bytes flow. */
  flow(): void {
    this.#requests.flow();
    this.#answers.flow();
  }

  /** Cuts both connections. */
  cut(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#requests.end();
    this.#answers.end();
    this.#client.destroy();
    this.#upstream.destroy();
    this.#onEnd();
    this.#cutting?.done();
  }

  /** The server gets all that was sent and then the end, so that it has done it when it hangs up. */
  #cutAnswer(): void {
    this.#client.destroy();
    this.#upstream.end();
  }

  #arm(bytes: Uint8Array): void {
    if (this.#cutting !== undefined) return;
    const index = this.#state.cuts.findIndex(({ request }) => request(bytes));
    if (index >= 0) [this.#cutting] = this.#state.cuts.splice(index, 1);
  }
}

/** One direction: chunks leave in the order they came, each when its time has come. */
class Lane {
  readonly #to: Socket;
  readonly #state: State;
  readonly #delayMs: () => number;
  readonly #held: { readonly bytes: Uint8Array; readonly due: number }[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(to: Socket, state: State, delayMs: () => number) {
    this.#to = to;
    this.#state = state;
    this.#delayMs = delayMs;
  }

  push(bytes: Uint8Array): void {
    this.#held.push({ bytes, due: performance.now() + this.#delayMs() });
    this.flow();
  }

  flow(): void {
    if (this.#timer !== undefined) return;
    while (!this.#state.stalled && this.#held[0] !== undefined) {
      const left = this.#held[0].due - performance.now();
      if (left > 0) {
        this.#timer = setTimeout(() => {
          this.#timer = undefined;
          this.flow();
        }, left);
        return;
      }
      this.#to.write(this.#held.shift()!.bytes);
    }
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#held.length = 0;
  }
}
