/** Rejects a statement that cannot run when it is saved, with the compiler that the executor uses. */

import { fieldError } from '@datahub/service-kit/call/error';
import { compileStatement } from '@datahub/statement/compile';
import type { CheckStatement } from './query.ts';

export const checkStatement: CheckStatement = ({ engine, command, query, context, cache }, pooling) => {
  const compiled = compileStatement(query, { dialect: engine, command, variables: context, pooling });
  if (cache === undefined || compiled.kind === 'read') return compiled.warnings();
  throw fieldError([{ path: ['cache'], detail: 'must be left out, because the query writes' }]);
};
