/** The calls of a route. */

import type { Prepared } from './prepared.ts';
import type { Path } from './spots.ts';

export interface Call {
  path: string;
  body?: string;
  headers?: Record<string, string>;
}

/** A function is called before each call. */
export type ToCall = Call | (() => Call | Promise<Call>);

export interface Fixtures {
  /** A valid body. Payloads are put into each place of it. */
  base?: (prepared: Prepared) => object;
  /** The path, if it is not that of `Prepared.ids`. */
  path?: (prepared: Prepared) => string;
  /** The status with the valid body, if it is not 200. */
  status?: number;
  headers?: Record<string, string>;
  /** Places in values of any JSON, which the schema does not declare. */
  spots?: Path[];
  /** Calls that read what is stored or in a database. Those named `absent…` get 404, and those named `refused…` 422. */
  stored?: (prepared: Prepared) => Record<string, ToCall>;
}
