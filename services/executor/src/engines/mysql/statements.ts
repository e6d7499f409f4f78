/** Reads the response to COM_STMT_PREPARE. */

import * as protocol from './protocol.ts';
import type { Response } from './wire.ts';

export interface Prepared {
  id: number;
  columns: protocol.ColumnDefinition[];
  parameterCount: number;
}

/** `prepared` is complete when the response is. */
export function createPrepareReader(hasExtended: boolean): { prepared: Prepared; response: Response } {
  const prepared: Prepared = { id: 0, columns: [], parameterCount: 0 };
  let reader = new protocol.ColumnReader(0, false);
  let parametersLeft = 0;
  let seen = -1;
  // An EOF packet ends each of the two lists.
  const lists = (count: number) => (count > 0 ? count + 1 : 0);
  const response: Response = (source, start, end) => {
    if (seen < 0) {
      prepared.id = source.readUInt32LE(start + 1);
      reader = new protocol.ColumnReader(source.readUInt16LE(start + 5), hasExtended);
      prepared.columns = reader.columns;
      prepared.parameterCount = source.readUInt16LE(start + 7);
      parametersLeft = lists(prepared.parameterCount);
    } else if (parametersLeft > 0) parametersLeft--;
    else if (!reader.whole) reader.read(source, start, end);
    seen++;
    return seen === lists(prepared.parameterCount) + lists(reader.count);
  };
  return { prepared, response };
}
