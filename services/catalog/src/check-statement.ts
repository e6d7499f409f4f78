/** Whether a stored text can be run at all, asked when it is saved: the same compiler that the executor uses. */

import { compileStatement } from '@datahub/statement/compile';
import type { CheckStatement } from './query.ts';

export const checkStatement: CheckStatement = ({ engine, command, query, context }) => {
  compileStatement(query, { dialect: engine, command, variables: context });
};
