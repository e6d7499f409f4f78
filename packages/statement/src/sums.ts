/** Which columns of a result may be added, for charts. */

import type { EngineName } from '@datahub/contract/engines';
import { readTokens } from './sql/lexer.ts';
import { sumColumns } from './sql/sums.ts';

/** The names of columns that are sums of groups. None of those of MongoDB are known. */
export function sumsOf(text: string, engine: EngineName): ReadonlySet<string> {
  return engine === 'mongodb'
    ? new Set()
    : sumColumns(
        text,
        readTokens(text, engine, () => false),
        engine,
      );
}
