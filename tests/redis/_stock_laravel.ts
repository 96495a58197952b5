import { type Lab, latin, text } from "./lab.ts";
import { RETRY_AFTER } from "./_model.ts";
import type { Released, Taken, ThirdWorker } from "./_third_worker.ts";

/** What a worker of Laravel does to the keys, in words of this project's. Contract: R4, R12. */
const POP = `local job = redis.call('LPOP', KEYS[1])
if not job then return false end
local counted = cjson.decode(job)
counted.attempts = counted.attempts + 1
counted = cjson.encode(counted)
redis.call('ZADD', KEYS[2], ARGV[1], counted)
redis.call('LPOP', KEYS[3])
return counted`;
const MIGRATE =
  `local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
for i, member in ipairs(due) do
redis.call('ZREM', KEYS[1], member)
redis.call('RPUSH', KEYS[2], member)
redis.call('RPUSH', KEYS[3], 1)
end`;
const RELEASE = `redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])`;

/** A worker of the stock driver: it does not gate what it settles. */
export class StockWorker implements ThirdWorker {
  readonly #lab: Lab;
  readonly #batch: number;
  readonly #held: string[] = [];

  constructor(lab: Lab, migrationBatchSize: number) {
    this.#lab = lab;
    this.#batch = migrationBatchSize;
  }

  now(): number {
    return Math.floor(this.#lab.now);
  }

  async pop(): Promise<Taken | null> {
    const { server, keys } = this.#lab;
    const { ready, delayed, reserved, notify } = keys;
    const now = this.now();
    for (const from of [delayed!, reserved!]) {
      await server.call("EVAL", MIGRATE, 3, from, ready!, notify!, now, this.#batch);
    }
    const member = await server.call(
      ...["EVAL", POP, 3, ready!, reserved!, notify!, now + RETRY_AFTER],
    );
    if (!(member instanceof Uint8Array)) return null;
    this.#held.push(text(member));
    return { member: text(member), job: text(member), now };
  }

  async ack(which: number): Promise<string | null> {
    const [member] = this.#held.splice(which, 1);
    if (member === undefined) return null;
    await this.#lab.server.call("ZREM", this.#lab.keys["reserved"]!, latin(member));
    return member;
  }

  async release(which: number): Promise<Released | null> {
    const [member] = this.#held.splice(which, 1);
    if (member === undefined) return null;
    const { server, keys } = this.#lab;
    const { delayed, reserved } = keys;
    const now = this.now();
    await server.call("EVAL", RELEASE, 2, delayed!, reserved!, latin(member), now);
    return { member, payload: member, now };
  }
}
