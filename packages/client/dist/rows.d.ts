/** Rows of a result in `application/x-ndjson`, one at a time. */
import type { Opened } from './exchange.ts';
/** Runs the query once for each loop over it. */
export interface Rows<Row> extends AsyncIterable<Row> {
    /** Whether a limit ended the last loop, or a procedure has further results. */
    readonly truncated: boolean;
}
export declare function createRows<Row>(open: () => Promise<Opened>): Rows<Row>;
