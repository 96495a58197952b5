/**
 * Starts one Kafka node: broker and controller in one Java VM.
 *
 * @module
 */

import { connect } from "node:net";
import { environment } from "../harness.ts";
import type { Certificates } from "./_certificates.ts";
import { absent, foreignBroker, type RunningBroker } from "./broker.ts";
import { JAVA, type KafkaProgram, kafkaProgram, type KafkaVersion } from "./_kafka_program.ts";
import { owned, Server, type ServerRecipe } from "./_server.ts";

/** Which Kafka to start. */
export interface KafkaOptions {
  /**
   * The version.
   *
   * @default {"4.4.0"}
   */
  readonly version?: KafkaVersion;
  /**
   * Lines of the configuration, for instance `["message.max.bytes", "2000000"]`. A broker of the
   * environment is not used then.
   *
   * @default {[]}
   */
  readonly conf?: readonly (readonly [string, string])[];
  /**
   * Whether the test restarts, kills or freezes it, so that it must have been started here. What was
   * stored outlives all of that.
   *
   * @default {false}
   */
  readonly own?: boolean;
  /**
   * Listens with SASL PLAIN as well, {@linkcode SASL_OFFSET} ports above its own: user `test`, password
   * `test`. A broker of the environment is not used then.
   *
   * @default {false}
   */
  readonly sasl?: boolean;
  /**
   * Listens with TLS as well, {@linkcode KAFKA_TLS_OFFSET} ports above its own. A broker of the
   * environment is not used then.
   *
   * @default {undefined}
   */
  readonly tls?: Certificates;
}

/** From a broker's port to the one on which it wants a password, where it does. */
export const SASL_OFFSET = 10_500;
/** From a broker's port to the one on which it speaks TLS, where it does. */
export const KAFKA_TLS_OFFSET = 10_700;
/** From a broker's port to its controller's. */
const CONTROLLER_OFFSET = 10_000;
/** The broker may take this long for an answer before it is asked anew, in milliseconds. */
const ANSWER_TIMEOUT_MS = 1_000;
const START_TIMEOUT_MS = 90_000;
const VARIABLE = "BQ_TEST_KAFKA_URL";

function named(options: KafkaOptions): RunningBroker | undefined {
  const { version, conf, own, sasl, tls } = options;
  if (version !== undefined || conf !== undefined || own || sasl || tls) return undefined;
  const url = environment(VARIABLE);
  return url === undefined || url === "" ? undefined : foreignBroker(url, VARIABLE);
}

/**
 * Says whether tests that need this Kafka have to be skipped, for `ignore` of a test. Gets it from
 * Maven's registry when it is missing.
 */
export function absentKafka(options: KafkaOptions = {}): Promise<boolean> {
  if (named(options) !== undefined) return Promise.resolve(false);
  const { version = "4.4.0" } = options;
  return absent(`Kafka ${version}`, () => kafkaProgram(version));
}

/**
 * Gives the Kafka that the environment names (`BQ_TEST_KAFKA_URL`), else starts one on a free port of
 * 127.0.0.1 that ends with this process. Topics are not made by themselves; one that is made without a
 * number of partitions has three.
 *
 * @throws {BrokerAbsentError} when it cannot be had; ask {@linkcode absentKafka} before.
 */
export async function startKafka(options: KafkaOptions = {}): Promise<RunningBroker> {
  const foreign = named(options);
  if (foreign !== undefined) return foreign;
  const server = await Server.start(recipeOf(await kafkaProgram(options.version), options));
  return { url: `kafka://127.0.0.1:${server.port}`, ...owned(server) };
}

/**
 * Runs in a folder of its own, which is kept over restarts. The Java VM takes the shell's place, so its
 * process id is known, and becomes the name of the broker's rack.
 */
const START = `
seed=$1 jars=$2 tls=$3
shift 3
printf '%s' "$tls" >tls.pem
[ -e data/meta.properties ] || cp -r "$seed" data || exit 1
{ printf '%s\\n' "$@"; echo "broker.rack=$$"; } >server.properties
cat >logging.properties <<END
handlers=java.util.logging.ConsoleHandler
.level=WARNING
java.util.logging.ConsoleHandler.level=WARNING
END
`;

function recipeOf({ seed, jars }: KafkaProgram, options: KafkaOptions): ServerRecipe {
  const { conf = [], sasl = false, tls } = options;
  const java = [
    ...JAVA,
    ...["-Djava.util.logging.config.file=logging.properties", "-cp", `${jars}/*`],
    ...["kafka.Kafka", "server.properties"],
  ].map((word) => `'${word}'`).join(" ");
  return {
    name: "Kafka",
    offsets: [
      CONTROLLER_OFFSET,
      ...(sasl ? [SASL_OFFSET] : []),
      ...(tls ? [KAFKA_TLS_OFFSET] : []),
    ],
    startTimeoutMs: START_TIMEOUT_MS,
    answers,
    command(port: number): string[] {
      const own = configuration(port, sasl, tls !== undefined);
      const lines = [...own, ...conf.map((pair) => pair.join("="))];
      const pem = tls === undefined ? "" : `${tls.key}\n${tls.cert}`;
      return ["sh", "-c", `${START}exec ${java}`, "sh", seed, jars, pem, ...lines];
    },
  };
}

/** One node that starts fast, makes no topics by itself, and notices fast that its last life has ended. */
function configuration(port: number, sasl: boolean, tls: boolean): string[] {
  const controller = `127.0.0.1:${port + CONTROLLER_OFFSET}`;
  const plain = `PLAINTEXT://127.0.0.1:${port}`;
  const guarded = (sasl ? `,SASL://127.0.0.1:${port + SASL_OFFSET}` : "") +
    (tls ? `,TLS://127.0.0.1:${port + KAFKA_TLS_OFFSET}` : "");
  return [
    "process.roles=broker,controller",
    "node.id=1",
    `controller.quorum.voters=1@${controller}`,
    "controller.listener.names=CONTROLLER",
    "inter.broker.listener.name=PLAINTEXT",
    `listeners=${plain},CONTROLLER://${controller}${guarded}`,
    `advertised.listeners=${plain}${guarded}`,
    "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL",
    "log.dirs=data",
    "auto.create.topics.enable=false",
    "num.partitions=3",
    ...["offsets.topic", "transaction.state.log", "share.coordinator.state.topic"].flatMap((
      name,
    ) => [
      `${name}.replication.factor=1`,
      `${name}.num.partitions=3`,
    ]),
    ...["transaction.state.log.min.isr=1", "share.coordinator.state.topic.min.isr=1"],
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=1000",
    ...["num.network.threads=2", "num.io.threads=2", "background.threads=2"],
    ...["num.recovery.threads.per.data.dir=1", "log.cleaner.threads=1"],
    "log.cleaner.dedupe.buffer.size=4194304",
    "log.retention.check.interval.ms=1000",
    "log.initial.task.delay.ms=1000",
    ...["broker.heartbeat.interval.ms=500", "broker.session.timeout.ms=3000"],
    ...(tls
      ? [
        "listener.name.tls.ssl.keystore.type=PEM",
        "listener.name.tls.ssl.keystore.location=tls.pem",
      ]
      : []),
    ...(sasl
      ? [
        "listener.name.sasl.sasl.enabled.mechanisms=PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config=" +
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_test="test";',
      ]
      : []),
  ];
}

/** A Metadata request, version 1, for no topic. */
const ASK = Uint8Array.from(
  [...[0, 0, 0, 16, 0, 3, 0, 1, 0, 0, 0, 7, 0, 2], 0x62, 0x71, 0, 0, 0, 0],
);

/** Whether this very process answers: it lists itself once clients can work with it. */
function answers(port: number, pid: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const chunks: Uint8Array[] = [];
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => end(false));
    socket.on("error", () => end(false));
    socket.on("close", () => resolve(false));
    socket.on("connect", () => socket.write(ASK));
    socket.on("data", (chunk: Uint8Array) => {
      chunks.push(chunk);
      const text = chunks.map((one) => String.fromCharCode(...one)).join("");
      // A size, the id of the request, one broker, then it: its rack ends the entry.
      if (text.length < 12) return;
      if (text.charCodeAt(11) === 0) end(false);
      else if (text.includes(`\0${String.fromCharCode(`${pid}`.length)}${pid}`)) end(true);
      else if (text.length > 60) end(false);
    });
  });
}
