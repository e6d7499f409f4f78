/** Keeps the values of a query beside the address, so that Back and reload bring them again, and takes those of links. */

import { useEffect, useRef } from 'preact/hooks';
import { addressOf, part } from '../../api/client.ts';
import { fromAddress, toAddress, toLink } from '../../state/address-values.ts';
import { addressQuery, route, setAddressQuery } from '../../state/route.ts';
import type { StoredQueryEditor } from '../../state/stored-query-editor.ts';
import { ownOf } from '../../state/variables.ts';
import { copyText } from '../../ui/copy.ts';
import { notify } from '../../ui/notice.tsx';

/** Browsers refuse to change the history at each key. */
const pauseMs = 150;

/** The query must be loaded, because its variables say which values are secret. */
export function useAddress(editor: StoredQueryEditor): void {
  const given = addressQuery.value;
  /** What this page wrote last. Meanwhile the values may have changed again, so it must not come back to them. */
  const own = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (given === '' || given === own.current) return;
    const fields = editor.fields.peek();
    const secrets = fields
      .filter(({ secret }) => secret)
      .map(({ key }) => [key, ownOf(editor.values.peek(), key)]);
    editor.values.value = { ...Object.fromEntries(secrets), ...fromAddress(given, fields) };
  }, [editor, given]);
  const written = toAddress(editor.fields.value, editor.values.value);
  const path = route.value;
  useEffect(() => {
    const timer = setTimeout(() => {
      if (path[3] !== editor.queryId) return;
      own.current = written;
      setAddressQuery(written);
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [editor, written, path]);
}

/** Copies a link that opens the query with its values. */
export async function copyLink(editor: StoredQueryEditor): Promise<void> {
  const fields = editor.fields.value;
  const values = editor.values.value;
  const { query, leftOut } = toLink(fields, values);
  const link = `${addressOf('')}#/q/${part(editor.queryId)}${query === '' ? '' : `?${query}`}`;
  const secrets = fields.some(({ key, secret }) => secret === true && ownOf(values, key) !== undefined);
  const words = [
    query === '' ? 'Copied the link' : 'Copied the link. It shows the values',
    secrets ? ', without the secret ones' : '',
    leftOut.length > 0 ? `, without ${leftOut.join(', ')}, too long for an address` : '',
  ];
  notify((await copyText(link)) ? `${words.join('')}.` : link);
}
