import type { Bench } from './bench.ts';

export interface Check {
  /** The name in the table. */
  name: string;
  run(bench: Bench): Promise<void>;
}
