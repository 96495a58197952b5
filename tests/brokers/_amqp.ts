/** Asks a port whether an AMQP 1.0 broker answers there. */

import { connect } from "node:net";

/** A broker may take this long for an answer before it is asked anew, in milliseconds. */
const ANSWER_TIMEOUT_MS = 1_000;

/** Headers and frames of a client that logs in as nobody and opens a connection. */
const HELLO = Buffer.from(
  "414d515003010000" + // the header of SASL
    "0000001902010000005341c00c01a309414e4f4e594d4f5553" + // ANONYMOUS
    "414d515000010000" + // the header of AMQP
    "0000001202000000005310c00501a1026271", // open, as the container `bq`
  "hex",
);

/**
 * Whether what a broker says to a client that logs in as nobody is enough, within a second.
 *
 * @param port Its port on 127.0.0.1.
 * @param enough Looks at all that was heard, byte for byte as Latin-1.
 */
export function amqpAnswers(port: number, enough: (heard: string) => boolean): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const timer = setTimeout(() => end(false), ANSWER_TIMEOUT_MS);
    let heard = "";
    const end = (answer: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    socket.on("error", () => end(false));
    socket.on("close", () => end(false));
    socket.on("connect", () => {
      socket.write(HELLO);
    });
    socket.on("data", (bytes: Uint8Array) => {
      heard += Buffer.from(bytes).toString("latin1");
      if (enough(heard)) end(true);
    });
  });
}
