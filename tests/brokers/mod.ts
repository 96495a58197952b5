/**
 * Real brokers for tests, started where they are needed: the environment's, else what is installed,
 * else from the registries.
 *
 * @module
 */

export { absentActivemq, activemqJars, type ActivemqOptions, startActivemq } from "./activemq.ts";
export {
  absentArtemis,
  artemisJars,
  type ArtemisOptions,
  type RunningArtemis,
  startArtemis,
} from "./artemis.ts";
export { absent, BrokerAbsentError, type RunningBroker } from "./broker.ts";
export { aroundFile, brokerOfFile } from "./lifetime.ts";
export {
  absentKafka,
  KAFKA_TLS_OFFSET,
  type KafkaOptions,
  SASL_OFFSET,
  startKafka,
} from "./kafka.ts";
export { type Certificates, makeCertificates } from "./_certificates.ts";
export { type CutOptions, type Proxy, startProxy } from "./proxy.ts";
export { absentQpid, qpidJars, type QpidOptions, startQpid } from "./qpid.ts";
export {
  absentRabbitmq,
  type RabbitmqOptions,
  type RunningRabbitmq,
  startRabbitmq,
} from "./rabbitmq.ts";
export { absentRedis, type RedisOptions, startRedis, TLS_OFFSET } from "./redis.ts";
export { type RunningSentinel, startRedisSentinel } from "./redis_sentinel.ts";
export { type Answer, RespClient } from "./resp.ts";
