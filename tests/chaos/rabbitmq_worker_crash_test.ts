/** Workers on RabbitMQ that are killed, at every moment of a message's way: nothing is lost. */

import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { rabbitmqStage } from "./_rabbitmq_scene.ts";
import { workerCrashTests } from "./_worker_crash_suite.ts";

const ignore = await absentRabbitmq({ own: true });
workerCrashTests(rabbitmqStage(ignore, brokerOfFile(ignore, () => startRabbitmq({ own: true }))));
