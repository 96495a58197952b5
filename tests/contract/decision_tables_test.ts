/**
 * The decision tables of the contract, row by row and column by column. `_decision_table.ts` says how
 * to read them.
 *
 * @module
 */

import type { SettlementPolicy } from "../../runtime/policy.ts";
import { decisionTable, type RecordNames } from "./_decision_table.ts";
import { POLICIES } from "./_decisions.ts";

/** The names that most brokers give. */
const DOTTED: RecordNames = { deadLetterQueue: "shop-eu.dlq", originalQueue: "shop" };

/** Kafka names the topic that the record came from. */
const WORK_TOPIC: RecordNames = { deadLetterQueue: "shop-eu.dlq", originalQueue: "shop-eu" };

function of(name: string): SettlementPolicy {
  const policy = POLICIES[name];
  if (policy === undefined) throw new Error(`no policy '${name}'`);
  return policy;
}

decisionTable(
  "memory",
  of("memory"),
  DOTTED,
  `
|                    | on            | off     | null    | delete on | delete off | release on | release off | dead_letter off | dead_letter null |
| ok                 | ack |
| fails 1/3          | retry 1 |
| fails 3/3          | failed 3      | drop    | drop    | failed 3  | drop       | failed 3   | drop        | failed 3        | drop             |
| fails for good 1/3 | failed 1      | drop    | drop    | failed 1  | drop       | failed 1   | drop        | failed 1        | drop             |
| unknown URN 1/3    | retry 1       | retry 1 | retry 1 | drop      | drop       | release    | release     | unknown_urn 0   | drop             |
| unknown URN 3/3    | unknown_urn 3 | drop    | drop    | drop      | drop       | release    | release     | unknown_urn 2   | drop             |
| poison 1/3         | poison 0      | retry 1 | retry 1 | drop      | drop       | poison 0   | retry 1     | poison 0        | retry 1          |
| poison 3/3         | poison 2      | drop    | drop    | drop      | drop       | poison 2   | drop        | poison 2        | drop             |
| write fails        | return |
| shutdown           | return |
`,
);

decisionTable(
  "redis legacy",
  of("redis legacy"),
  DOTTED,
  `
|                    | on            | off     | null    | delete on | delete off | release on  | release off | dead_letter off | dead_letter null |
| ok                 | ack |
| fails 1/3          | retry 1 |
| fails 3/3          | failed 3      | drop    | drop    | failed 3  | drop       | failed 3    | drop        | failed 3        | drop             |
| fails for good 1/3 | failed 1      | drop    | drop    | failed 1  | drop       | failed 1    | drop        | failed 1        | drop             |
| unknown URN 1/3    | retry 1       | retry 1 | retry 1 | drop      | drop       | release +1s | release +1s | unknown_urn 0   | drop             |
| unknown URN 3/3    | unknown_urn 3 | drop    | drop    | drop      | drop       | release +1s | release +1s | unknown_urn 2   | drop             |
| poison 1/3         | poison 0 |
| poison 3/3         | poison 2 |
| write fails        | leave |
| shutdown           | return |
`,
);

decisionTable(
  "redis zset",
  of("redis zset"),
  DOTTED,
  `
|                    | on            | off     | null    | delete on | delete off | release on | release off | dead_letter off | dead_letter null |
| ok                 | ack |
| fails 1/3          | retry 1 |
| fails 3/3          | failed 3      | drop    | drop    | failed 3  | drop       | failed 3   | drop        | failed 3        | drop             |
| fails for good 1/3 | failed 1      | drop    | drop    | failed 1  | drop       | failed 1   | drop        | failed 1        | drop             |
| unknown URN 1/3    | retry 1       | retry 1 | retry 1 | drop      | drop       | release    | release     | unknown_urn 0   | drop             |
| unknown URN 3/3    | unknown_urn 3 | drop    | drop    | drop      | drop       | release    | release     | unknown_urn 2   | drop             |
| poison 1/3         | poison 0 |
| poison 3/3         | poison 2 |
| write fails        | leave |
| shutdown           | return |
`,
);

decisionTable(
  "rabbitmq",
  of("rabbitmq"),
  DOTTED,
  `
|                    | on            | off     | null    | delete on | delete off | release on | release off | dead_letter off | dead_letter null |
| ok                 | ack |
| fails 1/3          | retry 1 |
| fails 3/3          | failed 3      | drop    | drop    | failed 3  | drop       | failed 3   | drop        | failed 3        | drop             |
| fails for good 1/3 | failed 1      | drop    | drop    | failed 1  | drop       | failed 1   | drop        | failed 1        | drop             |
| unknown URN 1/3    | retry 1       | retry 1 | retry 1 | drop      | drop       | release    | release     | unknown_urn 0   | drop             |
| unknown URN 3/3    | unknown_urn 3 | drop    | drop    | drop      | drop       | release    | release     | unknown_urn 2   | drop             |
| poison 1/3         | poison 0      | retry 1 | retry 1 | drop      | drop       | poison 0   | retry 1     | poison 0        | retry 1          |
| poison 3/3         | poison 2      | drop    | drop    | drop      | drop       | poison 2   | drop        | poison 2        | drop             |
| write fails        | return +1s |
| shutdown           | return |
`,
);

decisionTable(
  "sqs",
  of("sqs"),
  { ...DOTTED, deadLetterQueue: "shop-eu-dlq" },
  `
|                    | on            | off     | null    | delete on | delete off | release on | release off | dead_letter off | dead_letter null |
| ok                 | ack |
| fails 1/3          | retry 1 |
| fails 3/3          | failed 3      | drop    | drop    | failed 3  | drop       | failed 3   | drop        | failed 3        | drop             |
| fails for good 1/3 | failed 1      | drop    | drop    | failed 1  | drop       | failed 1   | drop        | failed 1        | drop             |
| unknown URN 1/3    | retry 1       | retry 1 | retry 1 | drop      | drop       | release    | release     | unknown_urn 0   | drop             |
| unknown URN 3/3    | unknown_urn 3 | drop    | drop    | drop      | drop       | release    | release     | unknown_urn 2   | drop             |
| poison 1/3         | poison 0      | leave   | leave   | drop      | drop       | poison 0   | leave       | poison 0        | leave            |
| poison 3/3         | poison 2      | leave   | leave   | drop      | drop       | poison 2   | leave       | poison 2        | leave            |
| gated 1/3          | raw           | leave   | leave   | drop      | drop       | raw        | leave       | raw             | leave            |
| gated 3/3          | raw           | leave   | leave   | drop      | drop       | raw        | leave       | raw             | leave            |
| write fails        | leave |
| shutdown           | return |
`,
);

decisionTable(
  "service bus",
  of("service bus"),
  DOTTED,
  `
|                    | on            | off     | null    | delete on | delete off | release on  | release off | dead_letter off | dead_letter null |
| ok                 | ack |
| fails 1/3          | retry 1 |
| fails 3/3          | failed 3      | native  | native  | failed 3  | native     | failed 3    | native      | failed 3        | native           |
| fails for good 1/3 | failed 1      | native  | native  | failed 1  | native     | failed 1    | native      | failed 1        | native           |
| unknown URN 1/3    | retry 1       | retry 1 | retry 1 | drop      | drop       | release +1s | release +1s | unknown_urn 0   | drop             |
| unknown URN 3/3    | unknown_urn 3 | native  | native  | drop      | drop       | release +1s | release +1s | unknown_urn 2   | drop             |
| poison 1/3         | poison 0      | native  | native  | drop      | drop       | poison 0    | native      | poison 0        | native           |
| poison 3/3         | poison 2      | native  | native  | drop      | drop       | poison 2    | native      | poison 2        | native           |
| gated 1/3          | raw           | native  | native  | drop      | drop       | raw         | native      | raw             | native           |
| gated 3/3          | raw           | native  | native  | drop      | drop       | raw         | native      | raw             | native           |
| write fails        | return +1s |
| shutdown           | return |
`,
);

decisionTable(
  "pulsar shared",
  of("pulsar shared"),
  DOTTED,
  `
|                    | on            | off     | null    | delete on | delete off | release on    | release off | dead_letter off | dead_letter null |
| ok                 | ack |
| fails 1/3          | retry 1 |
| fails 3/3          | failed 3      | drop    | drop    | failed 3  | drop       | failed 3      | drop        | failed 3        | drop             |
| fails for good 1/3 | failed 1      | drop    | drop    | failed 1  | drop       | failed 1      | drop        | failed 1        | drop             |
| unknown URN 1/3    | retry 1       | retry 1 | retry 1 | drop      | drop       | retry 1       | retry 1     | unknown_urn 0   | drop             |
| unknown URN 3/3    | unknown_urn 3 | drop    | drop    | drop      | drop       | unknown_urn 3 | drop        | unknown_urn 2   | drop             |
| poison 1/3         | poison 0      | retry 1 | retry 1 | drop      | drop       | poison 0      | retry 1     | poison 0        | drop             |
| poison 3/3         | poison 2      | drop    | drop    | drop      | drop       | poison 2      | drop        | poison 2        | drop             |
| gated 1/3          | raw           | drop    | drop    | drop      | drop       | raw           | drop        | raw             | drop             |
| gated 3/3          | raw           | drop    | drop    | drop      | drop       | raw           | drop        | raw             | drop             |
| write fails        | return |
| shutdown           | leave |
`,
);

decisionTable(
  "pulsar exclusive",
  of("pulsar exclusive"),
  DOTTED,
  `
|                    | on            | off     | null    | delete on | delete off | release on    | release off | dead_letter off | dead_letter null |
| ok                 | ack |
| fails 1/3          | retry 1 |
| fails 3/3          | failed 3      | drop    | drop    | failed 3  | drop       | failed 3      | drop        | failed 3        | drop             |
| fails for good 1/3 | failed 1      | drop    | drop    | failed 1  | drop       | failed 1      | drop        | failed 1        | drop             |
| unknown URN 1/3    | retry 1       | retry 1 | retry 1 | drop      | drop       | retry 1 +1s   | retry 1 +1s | unknown_urn 0   | drop             |
| unknown URN 3/3    | unknown_urn 3 | drop    | drop    | drop      | drop       | unknown_urn 3 | drop        | unknown_urn 2   | drop             |
| poison 1/3         | poison 0      | retry 1 | retry 1 | drop      | drop       | poison 0      | retry 1     | poison 0        | drop             |
| poison 3/3         | poison 2      | drop    | drop    | drop      | drop       | poison 2      | drop        | poison 2        | drop             |
| gated 1/3          | raw           | drop    | drop    | drop      | drop       | raw           | drop        | raw             | drop             |
| gated 3/3          | raw           | drop    | drop    | drop      | drop       | raw           | drop        | raw             | drop             |
| write fails        | return |
| shutdown           | leave |
`,
);

decisionTable(
  "kafka",
  of("kafka"),
  WORK_TOPIC,
  `
|                    | on            | off     | null    | delete on | delete off | release on    | release off | dead_letter off | dead_letter null |
| ok                 | ack |
| fails 1/3          | retry 1 |
| fails 3/3          | failed 3      | drop    | drop    | failed 3  | drop       | failed 3      | drop        | failed 3        | drop             |
| fails for good 1/3 | failed 1      | drop    | drop    | failed 1  | drop       | failed 1      | drop        | failed 1        | drop             |
| unknown URN 1/3    | retry 1       | retry 1 | retry 1 | drop      | drop       | retry 1       | retry 1     | unknown_urn 0   | drop             |
| unknown URN 3/3    | unknown_urn 3 | drop    | drop    | drop      | drop       | unknown_urn 3 | drop        | unknown_urn 2   | drop             |
| poison 1/3         | poison 0      | retry 1 | retry 1 | drop      | drop       | poison 0      | retry 1     | poison 0        | drop             |
| poison 3/3         | poison 2      | drop    | drop    | drop      | drop       | poison 2      | drop        | poison 2        | drop             |
| gated 1/3          | raw           | drop    | drop    | drop      | drop       | raw           | drop        | raw             | drop             |
| gated 3/3          | raw           | drop    | drop    | drop      | drop       | raw           | drop        | raw             | drop             |
| write fails        | return +1s |
| shutdown           | return |
`,
);

decisionTable(
  "kafka without tiers",
  of("kafka without tiers"),
  WORK_TOPIC,
  `
|                    | on            | off        | null       | delete on | delete off | release on    | release off | dead_letter off | dead_letter null |
| ok                 | ack |
| fails 1/3          | return +1s |
| fails 3/3          | failed 3      | drop       | drop       | failed 3  | drop       | failed 3      | drop        | failed 3        | drop             |
| fails for good 1/3 | failed 1      | drop       | drop       | failed 1  | drop       | failed 1      | drop        | failed 1        | drop             |
| unknown URN 1/3    | return +1s    | return +1s | return +1s | drop      | drop       | return +1s    | return +1s  | unknown_urn 0   | drop             |
| unknown URN 3/3    | unknown_urn 3 | drop       | drop       | drop      | drop       | unknown_urn 3 | drop        | unknown_urn 2   | drop             |
| poison 1/3         | poison 0      | drop       | drop       | drop      | drop       | poison 0      | drop        | poison 0        | drop             |
| poison 3/3         | poison 2      | drop       | drop       | drop      | drop       | poison 2      | drop        | poison 2        | drop             |
| gated 1/3          | raw           | drop       | drop       | drop      | drop       | raw           | drop        | raw             | drop             |
| gated 3/3          | raw           | drop       | drop       | drop      | drop       | raw           | drop        | raw             | drop             |
| write fails        | return +1s |
| shutdown           | return |
`,
);

decisionTable(
  "artemis",
  of("artemis"),
  DOTTED,
  `
|                    | on            | off     | null    | delete on | delete off | release on | release off | dead_letter off | dead_letter null |
| ok                 | ack |
| fails 1/3          | retry 1 |
| fails 3/3          | failed 3      | drop    | drop    | failed 3  | drop       | failed 3   | drop        | failed 3        | drop             |
| fails for good 1/3 | failed 1      | drop    | drop    | failed 1  | drop       | failed 1   | drop        | failed 1        | drop             |
| unknown URN 1/3    | retry 1       | retry 1 | retry 1 | drop      | drop       | release    | release     | unknown_urn 0   | drop             |
| unknown URN 3/3    | unknown_urn 3 | drop    | drop    | drop      | drop       | release    | release     | unknown_urn 2   | drop             |
| poison 1/3         | poison 0      | drop    | drop    | drop      | drop       | poison 0   | drop        | poison 0        | drop             |
| poison 3/3         | poison 2      | drop    | drop    | drop      | drop       | poison 2   | drop        | poison 2        | drop             |
| gated 1/3          | raw           | drop    | drop    | drop      | drop       | raw        | drop        | raw             | drop             |
| gated 3/3          | raw           | drop    | drop    | drop      | drop       | raw        | drop        | raw             | drop             |
| write fails        | return +1s |
| shutdown           | return |
`,
);
