/** Turns of the microtask queue in which what belongs together is collected. */
const COLLECTING_TURNS = 3;

/**
 * Runs `work` when the promise jobs of this tick have had a few turns: what they issue can then travel
 * together, and nothing waits for a timer.
 */
export function afterThisTick(work: () => void): void {
  let turns = COLLECTING_TURNS;
  const turn = (): void => {
    if (--turns > 0) queueMicrotask(turn);
    else work();
  };
  queueMicrotask(turn);
}
