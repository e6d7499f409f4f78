/** Rejects a statement that cannot run when it is saved, with the compiler that the executor uses. */

import { compileStatement } from '@datahub/statement/compile';
import type { CheckStatement } from './query.ts';

export const checkStatement: CheckStatement = ({ engine, command, query, context }, pooling) => {
  compileStatement(query, { dialect: engine, command, variables: context, pooling });
};
