import { expect, it } from 'vitest';
import { requireTransactional } from '../../../src/engines/mysql/rollback.ts';

/** A table whose trigger has this text. */
const server = (trigger: string) => {
  let isFirst = true;
  return async (query: string) => {
    if (query.includes('SELECT TABLE_SCHEMA, TABLE_NAME')) {
      const found = isFirst ? [['s', 't']] : [];
      isFirst = false;
      return found;
    }
    if (query.includes('SELECT TABLE_TYPE')) return [['BASE TABLE', 'InnoDB']];
    if (query.includes('information_schema.ENGINES')) return [['InnoDB']];
    return query.includes('ACTION_STATEMENT') ? [['s', trigger]] : [];
  };
};

it('checks definitions up to a length, and refuses longer ones', async () => {
  const definition = (length: number) => 'a b '.repeat(length / 4);
  await requireTransactional('UPDATE t', server(definition(1_000_000)));
  await expect(requireTransactional('UPDATE t', server(definition(1_100_000)))).rejects.toMatchObject({
    code: 'OPTION_REFUSED',
  });
});
