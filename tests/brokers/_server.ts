/** One server process that answers, with the verbs that every launcher offers. */

import type { RunningBroker } from "./broker.ts";
import { freePort } from "./_port.ts";
import { Keeper } from "./_keeper.ts";

/** How a server is started and asked. */
export interface ServerRecipe {
  /** The server, for messages. */
  readonly name: string;
  /** Distances from its port to further ports that it listens on. */
  readonly offsets?: readonly number[];
  /** Program and arguments for a port. */
  command(port: number): readonly string[];
  /**
   * Resolves with whether this very process answers, and not another one that was first on the port;
   * must not reject.
   */
  answers(port: number, pid: number): Promise<boolean>;
  /**
   * Longest time until it answers, in milliseconds.
   *
   * @default {30000}
   */
  readonly startTimeoutMs?: number;
}

/** A server gets this long to end in order, in milliseconds. */
const TERM_TIMEOUT_MS = 15_000;
/** Ports that are tried when another process takes the one that was free. */
const PORT_TRIES = 5;

/** One server on one port. */
export class Server {
  readonly #recipe: ServerRecipe;
  readonly #keeper: Keeper;
  /** Its port on 127.0.0.1. */
  readonly port: number;

  private constructor(recipe: ServerRecipe, keeper: Keeper, port: number) {
    this.#recipe = recipe;
    this.#keeper = keeper;
    this.port = port;
  }

  /** Starts a server on a free port and resolves when it answers. */
  static async start(recipe: ServerRecipe): Promise<Server> {
    for (let tries = 1;; tries++) {
      const port = await freePort(recipe.offsets);
      const keeper = new Keeper(recipe.command(port));
      const server = new Server(recipe, keeper, port);
      try {
        await server.#run();
        return server;
      } catch (error) {
        await keeper.close();
        // A server that ended at once may have met another process on its port.
        if (!(error instanceof EndedError) || tries === PORT_TRIES) throw error;
      }
    }
  }

  /** Process id; undefined while it is down. */
  get pid(): number | undefined {
    return this.#keeper.pid;
  }

  /** Its working directory. */
  get folder(): Promise<string> {
    return this.#keeper.folder;
  }

  /** Ends it in order unless it is down, and starts it on the same port. */
  async restart(): Promise<void> {
    this.#keeper.signal("SIGCONT");
    this.#keeper.signal("SIGTERM");
    const timer = setTimeout(() => this.#keeper.signal("SIGKILL"), TERM_TIMEOUT_MS);
    await this.#keeper.ended;
    clearTimeout(timer);
    await this.#run();
  }

  /** Kills it and leaves it down. */
  async kill(): Promise<void> {
    this.#keeper.signal("SIGKILL");
    await this.#keeper.ended;
  }

  /** Freezes it. */
  pause(): void {
    this.#keeper.signal("SIGSTOP");
  }

  /** Lets it go on. */
  resume(): void {
    this.#keeper.signal("SIGCONT");
  }

  /** Ends it and removes its folder. */
  stop(): Promise<void> {
    return this.#keeper.close();
  }

  async #run(): Promise<void> {
    const { name, answers, startTimeoutMs = 30_000 } = this.#recipe;
    const pid = await this.#keeper.start();
    let ended = false;
    void this.#keeper.ended.then(() => ended = true);
    const deadline = Date.now() + startTimeoutMs;
    while (!await answers(this.port, pid) || ended) {
      if (ended) {
        throw new EndedError(`Cannot start ${name} on port ${this.port}: ${await this.#log()}`);
      }
      if (Date.now() >= deadline) {
        await this.kill();
        throw new Error(
          `Cannot start ${name} on port ${this.port}: no answer within ${startTimeoutMs} ms; ` +
            await this.#log(),
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #log(): Promise<string> {
    return `it wrote ${JSON.stringify(await this.#keeper.log())}`;
  }
}

/** The server ended before it answered. */
class EndedError extends Error {}

/** A broker that is one server of ours, but for where it listens. */
export function owned(server: Server): Omit<RunningBroker, "url"> {
  return {
    port: server.port,
    ports: [server.port],
    owned: true,
    restart: () => server.restart(),
    kill: () => server.kill(),
    pause: () => Promise.resolve(server.pause()),
    resume: () => Promise.resolve(server.resume()),
    stop: () => server.stop(),
  };
}
