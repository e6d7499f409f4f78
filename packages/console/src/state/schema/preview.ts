/** Reads the first rows of a table. They are data, so the hub counts this as a draft that the person ran. */

import { callJson } from '../../api/client.ts';
import { may } from '../permissions.ts';

export const previewedMax = 10;

export const mayPreview = (engine: string): boolean =>
  engine !== 'mongodb' && may('queries:write') && may('queries:execute');

export async function readFirstRows(sourceId: string, query: string): Promise<object[]> {
  const body = { sourceId, query, options: { maxRows: previewedMax } };
  return (await callJson<{ data: object[] }>('v1/queries/try', { body })).data;
}
