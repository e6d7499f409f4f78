/** Code that runs exactly this query with exactly these values, as it can be pasted and run. */

import { objectOf } from '@datahub/contract/json-text';
import type { JsonType } from '@datahub/contract/json-types';
import { parseExact, toText } from '../../../api/exact.ts';
import { bodyCode, inScript, keyName, type Post, postCurl, postPython, postTypescript } from './post.ts';

export interface Call {
  /** The address of the hub, with a slash at the end. */
  url: string;
  queryId: string;
  label: string;
  /** The values as JSON texts. */
  members: [string, string][];
  columns: { name: string; jsonType: JsonType; type?: string }[];
  /** A key that was just created. Without it, programs read the key from the environment. */
  key?: string | undefined;
}

export const addressOfCall = ({ url }: Call): string => `${url}v1/queries/execute`;
export const bodyText = ({ queryId, members }: Call): string =>
  `{"queryId":${JSON.stringify(queryId)},"context":${objectOf(members)}}`;

/** The text that stands for the value of a secret variable in code. */
export const placeholderFor = (name: string): string => `your ${name}`;

/** The call as it is shown and copied: without the values of the variables that are `secrets`. */
export const withoutSecrets = (call: Call, secrets: readonly string[]): Call => ({
  ...call,
  members: call.members.map(([name, json]) => [
    name,
    secrets.includes(name) ? JSON.stringify(placeholderFor(name)) : json,
  ]),
});

const postOf = (call: Call): Post => ({ address: addressOfCall(call), body: bodyText(call), key: call.key });

export const curl = (call: Call): string => postCurl(postOf(call));

/** Why the values cannot be sent in an address; undefined if they can. */
export function whyNoLink(members: [string, string][]): string | undefined {
  const unfit = members.find(([, json]) => json === 'null' || json === '[]' || json === '[null]');
  if (unfit === undefined) return undefined;
  return `A URL cannot express ${unfit[1] === 'null' ? 'null' : 'an empty list'}, the value of ${unfit[0]}. The other calls can.`;
}

/** The address that answers with the rows. A query with a path has a readable one. */
export function link(call: Call, at: { hubId: string; path: string | undefined }): string {
  const where =
    at.path === undefined
      ? `v1/queries/${encodeURIComponent(call.queryId)}/data`
      : `v1/hubs/${encodeURIComponent(at.hubId)}/data/${at.path}`;
  const parameters = call.members.flatMap(([name, json]) =>
    itemsOf(json).map((item) => `${encodeURIComponent(name)}=${encodeURIComponent(item)}`),
  );
  return `${call.url}${where}${parameters.length === 0 ? '' : `?${parameters.join('&')}`}`;
}

/** The texts of a value in an address. Numbers keep their digits. */
function itemsOf(json: string): string[] {
  if (json.startsWith('"')) return [JSON.parse(json) as string];
  if (!json.startsWith('[')) return [json];
  return parseExact<unknown[]>(json).map(toText);
}

/** The TypeScript type of a column's values in an answer. */
const typeOf: Record<JsonType, string> = {
  number: 'number',
  string: 'string',
  'number|string': 'number | string',
  boolean: 'boolean',
  object: 'Record<string, unknown>',
  array: 'unknown[]',
  'number|string|boolean|object|array': 'unknown',
};

export function typescript(call: Call): string {
  const members = call.columns.map(
    ({ name, jsonType }) => `  ${JSON.stringify(name)}: ${typeOf[jsonType]} | null;`,
  );
  const row =
    members.length === 0
      ? 'type Row = Record<string, unknown>;'
      : `interface Row {\n${members.join('\n')}\n}`;
  return postTypescript(postOf(call), { row });
}

export const python = (call: Call): string => postPython(postOf(call), true);

const inMarkup = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
/** For a page of one of the origins that a browser key is bound to; that key may be public. */
export function webPage(call: Call): string {
  return `<!doctype html>
<meta charset="utf-8">
<title>${inMarkup(call.label)}</title>
<p></p>
<table></table>
<script type="module">
  const response = await fetch(${inScript(addressOfCall(call))}, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-api-key': ${inScript(call.key ?? 'dhk_…')} },
    body: ${bodyCode(bodyText(call), '    ')},
  });
  if (!response.ok) throw new Error(await response.text());
  const { data, truncated = false } = await response.json();
  document.querySelector('p').textContent = \`\${data.length} rows\${truncated ? ', and more' : ''}\`;
  const textOf = (value) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value);
  const table = document.querySelector('table');
  for (const cells of [Object.keys(data[0] ?? {}), ...data.map(Object.values)]) {
    const row = table.insertRow();
    for (const cell of cells) row.insertCell().textContent = textOf(cell);
  }
</script>`;
}

/** The file in which most agents look for servers of tools. They read \`\${…}\` from the environment. */
export function agentFile({ url, key }: Call): string {
  const headers = { 'x-service-api-key': key ?? `\${${keyName}}` };
  return JSON.stringify(
    { mcpServers: { 'data-hub': { type: 'http', url: `${url}mcp`, headers } } },
    undefined,
    2,
  );
}
