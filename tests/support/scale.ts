/**
 * How much of a measured promise a test run works through: a share that still shows the fault in a run of minutes, or,
 * with `TEST_SCALE=full`, the whole count that the documentation states.
 */
export const scaled = <T = number>(quick: T, full: T): T =>
  process.env.TEST_SCALE === 'full' ? full : quick;
