import type { Bench } from './bench.ts';

export interface Check {
  /** As the table calls it. */
  name: string;
  run(bench: Bench): Promise<void>;
}
