import type { BabelQueueOptions } from "../../runtime/options.ts";
import { Broker } from "./_broker.ts";
import { Chance } from "./_chance.ts";
import { Faults } from "./_faults.ts";
import { Log } from "./_log.ts";
import { Messages } from "./_message.ts";
import { drawPlan, type Plan } from "./_plan.ts";
import { Time } from "./_time.ts";

/** Everything that one history has in common. */
export interface World {
  readonly chance: Chance;
  readonly time: Time;
  readonly log: Log;
  readonly plan: Plan;
  readonly faults: Faults;
  readonly broker: Broker;
  readonly messages: Messages;
}

/** Draws the world of a seed. */
export function makeWorld(seed: number, traced: boolean): World {
  const chance = new Chance(seed);
  const time = new Time(chance);
  const log = new Log(time, traced);
  const plan = drawPlan(chance);
  const faults = new Faults(chance, log);
  return {
    chance,
    time,
    log,
    plan,
    faults,
    broker: new Broker(plan.broker, time, log),
    messages: new Messages(),
  };
}

/** What the transport and the handlers know of the process they run in. */
export interface Host {
  readonly name: string;
  readonly world: World;
  /** What its App was made with. */
  readonly options: BabelQueueOptions;
  /** False once it was killed: nothing reaches it any more. */
  readonly alive: boolean;
  /** Whether its `close()` has resolved. */
  readonly closed: boolean;
  /** What its wall clock says, in Unix milliseconds. */
  readonly wallMs: number;
  /** It was told of an error that trying again cannot cure, by the answer to a call of that step. */
  fatal(step: number): void;
}
