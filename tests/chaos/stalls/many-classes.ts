/** A classifier at its bounds. */

import { scaled } from '../../support/scale.ts';
import type { Prepared } from './prepared.ts';

/** As many classes as a classifier may have, or fewer. Their labels are as long as they may be. */
export const withManyClasses = ({ hub: { api } }: Prepared, toPath: (classifierId: string) => string) => {
  let path: string | undefined;
  const create = async () => {
    const { id } = await api.ok(api.post('/v1/classifiers', { name: 'many' }));
    const examples = Array.from({ length: scaled(2_000, 9_500) }, (_, i) =>
      JSON.stringify({ label: `${i} `.padEnd(200, 'x'), context: `word${i}` }),
    );
    const headers = { 'content-type': 'application/x-ndjson' };
    await api.ok(api.post(`/v1/classifiers/${id}/train`, undefined, { raw: examples.join('\n'), headers }));
    return toPath(id);
  };
  return {
    'many classes': async () => {
      path ??= await create();
      return { path };
    },
  };
};
