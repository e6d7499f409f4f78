/** Texts that no server takes: each part of the hub that reads them comes to an end, with an answer or a refusal. */

import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import { HubError } from '@datahub/service-kit/call/error';
import { expect, it } from 'vitest';
import { createRandom } from '../../../tests/support/random.ts';
import { scaled } from '../../../tests/support/scale.ts';
import { compileStatement } from '../src/compile.ts';
import { outlineOf } from '../src/outline.ts';
import { sumsOf } from '../src/sums.ts';

const pieces = (
  "( ) ) [ ] , ; . :: : := = <> < > || + - * ? @ @@ $1 $$ $a$ :x :ids {{x}} ' \" ` \\ /* */ -- # 1 .5 0x1 E' U&' N' _utf8'a' " +
  '\'a\' "b" `c` a t.a SELECT FROM WHERE ORDER BY GROUP HAVING LIMIT OFFSET UNION ALL WITH AS IN NOT NULL IS AND OR CASE WHEN THEN ELSE END ' +
  'JOIN LEFT ON USING INSERT INTO VALUES UPDATE SET DELETE RETURNING CALL BEGIN DECLARE count( sum( coalesce( cast( max( OVER FILTER ' +
  'EXISTS ANY ARRAY[ BETWEEN LIKE DISTINCT EXPLAIN FOR ROLLUP GROUPING FETCH WINDOW LATERAL DUAL TRUE'
).split(' ');

const ending = (work: () => unknown): void => {
  try {
    work();
  } catch (err) {
    if (!(err instanceof HubError)) throw err;
  }
};

it.each(['postgres', 'mysql', 'mariadb'] as const)('texts of random pieces on %s', (dialect) => {
  const random = createRandom(20_261_130);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  for (let i = 0; i < scaled(3_000, 200_000); i++) {
    const count = 1 + Math.floor(random() * 24);
    const start = pick([
      'SELECT ',
      'SELECT 1',
      'SELECT a FROM t WHERE ',
      'WITH a AS (',
      'INSERT INTO t ',
      '',
    ]);
    const text = start + Array.from({ length: count }, () => pick(pieces)).join(pick([' ', '']));
    const command = pick(['SELECT', 'SELECT', 'WITH', 'INSERT', 'UPDATE', 'CALL']);
    ending(() => {
      const type = pick([undefined, 'string', 'json', 'boolean', 'timestamp']);
      const variables = [{ key: 'x', type, required: false, secret: false }] as Variable[];
      const compiled = compileStatement(text, { dialect, command, variables });
      ending(() => compiled.warnings());
      ending(() => compiled.columnFacts());
      ending(() => compiled.describable());
      for (const x of [1, 'a', [1, 2], { a: true }, null])
        ending(() => compiled.bind({ pinnedJson: '', contextJson: JSON.stringify({ x, ids: [1] }) }));
    });
    ending(() => sumsOf(text, dialect));
    ending(() => outlineOf(text, dialect, new Set(['x'])));
  }
  expect(pieces.length).toBeGreaterThan(100);
});
