/** Bounds the members of an error that a program reads. A hostile server can send any text. */

import { cutText } from '@datahub/contract/limits';
import type { SqlFault } from '@datahub/service-kit/call/error';

/** The longest name of an engine is that of a MongoDB collection: 255 bytes. */
const nameCharactersMax = 255;
const textCharactersMax = 2_000;

type Names = Pick<SqlFault, 'constraint' | 'schema' | 'table' | 'columnName' | 'dataType'>;

/** Leaves out names that are absent or too long. */
export function boundedNames(names: { [M in keyof Names]: string | undefined }): Names {
  const known = Object.entries(names).filter(([, name]) => name && name.length <= nameCharactersMax);
  return Object.fromEntries(known);
}

/** The texts of RAISE or SIGNAL, which their author wrote for the callers. */
export const raisedTexts = (message: string, hint?: string): Pick<SqlFault, 'message' | 'hint'> => ({
  message: cutText(message, textCharactersMax),
  ...(hint === undefined ? {} : { hint: cutText(hint, textCharactersMax) }),
});
