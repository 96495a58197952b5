import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { KafkaClient } from "../client.ts";
import type { ConnectionOptions } from "../options.ts";
import { kafkajsClient, type KafkajsLike } from "./kafkajs.ts";

/** Longest time for a connection, in milliseconds. */
const CONNECT_MS = 5_000;
/** Longest time for the answer to a request, in milliseconds. */
const REQUEST_MS = 10_000;
/** Silence after which a connection is probed, in milliseconds. */
const KEEP_ALIVE_MS = 60_000;
/** kafkajs' level for no log at all: what matters comes as an error or an event. */
const NO_LOG = 0;

/** What kafkajs says about a socket that it wants. */
interface SocketOptions {
  readonly host: string;
  readonly port: number;
  readonly ssl?: object | false | null;
  onConnect(): void;
}

/**
 * Makes a client of kafkajs, not yet connected.
 *
 * @param connection Its options.
 */
export async function ownClient(connection: ConnectionOptions): Promise<KafkaClient> {
  const { default: kafkajs } = await import("kafkajs");
  const sockets = new Sockets(connection["socketFactory"] as typeof open | undefined);
  const kafka = new kafkajs.Kafka({
    clientId: "babelqueue",
    connectionTimeout: CONNECT_MS,
    requestTimeout: REQUEST_MS,
    logLevel: NO_LOG,
    ...connection,
    socketFactory: sockets.open,
  } as never);
  const client = kafkajsClient(kafka as unknown as KafkajsLike);
  const close = client.close.bind(client);
  client.close = async (options = {}): Promise<void> => {
    const { signal } = options;
    const destroy = (): void => sockets.destroy();
    signal?.addEventListener("abort", destroy, { once: true });
    if (signal?.aborted) destroy();
    try {
      await close(options);
    } finally {
      signal?.removeEventListener("abort", destroy);
      destroy();
    }
  };
  return client;
}

/**
 * Every socket of a client. A request that meets a broken connection connects anew, even for a consumer
 * that is disconnected meanwhile: such a connection, and its timers, would keep the process from
 * ending.
 */
class Sockets {
  readonly #open: Set<Socket> = new Set();
  readonly #factory: typeof open;
  #over = false;
  readonly open = (options: SocketOptions): Socket => {
    const socket = this.#factory(options);
    // What tries again behind the end of the client finds out at once.
    if (this.#over) socket.destroy(closed());
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    return socket;
  };

  constructor(factory: typeof open = open) {
    this.#factory = factory;
  }

  destroy(): void {
    this.#over = true;
    for (const socket of this.#open) socket.destroy(closed());
  }
}

/** The client only clears up behind an error. */
function closed(): Error {
  return new Error("the client is closed");
}

function open({ host, port, ssl, onConnect }: SocketOptions): Socket {
  // The name of a server is sent with TLS, an address is not.
  const name = isIP(host) ? {} : { servername: host };
  // Without TLS the client says so in more than one way.
  const socket = ssl
    ? connectTls({ host, port, ...name, ...ssl }, onConnect)
    : connectPlain({ host, port }, onConnect);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  // The client disconnects from a broker that is away again and again. Each time it lets go of a socket
  // that has ended, which then takes one more listener for a connection; no leak to be warned of.
  socket.setMaxListeners(0);
  return socket;
}
