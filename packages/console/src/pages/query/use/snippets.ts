/** Code that runs exactly this query with exactly these values, as it can be pasted and run. */

import type { JsonType } from '@datahub/contract/json-types';
import { objectOf, parseExact, toText } from '../../../api/exact.ts';

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

export const keyName = 'DATAHUB_KEY';
export const addressOfCall = ({ url }: Call): string => `${url}v1/queries/execute`;
export const bodyText = ({ queryId, members }: Call): string =>
  `{"queryId":${JSON.stringify(queryId)},"context":${objectOf(members)}}`;

const shellQuoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const shellKey = (key: string | undefined) =>
  key === undefined ? `"x-service-api-key: $${keyName}"` : shellQuoted(`x-service-api-key: ${key}`);

export function curl(call: Call): string {
  return [
    `curl -s ${shellQuoted(addressOfCall(call))}`,
    `-H ${shellKey(call.key)}`,
    `-H 'content-type: application/json'`,
    `-d ${shellQuoted(bodyText(call))}`,
  ].join(' \\\n  ');
}

/** Why the values cannot be sent in an address; undefined if they can. */
export function whyNoLink(members: [string, string][]): string | undefined {
  const unfit = members.find(([, json]) => json === 'null' || json === '[]' || json === '[null]');
  if (unfit === undefined) return undefined;
  return `An address cannot say ${unfit[1] === 'null' ? 'null' : 'an empty list'}, the value of ${unfit[0]}. The other calls can.`;
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

/** The body as code, indented by `indent`. As a text if a number would lose digits in JavaScript. */
function bodyCode(call: Call, indent: string): string {
  const text = bodyText(call);
  const body: unknown = JSON.parse(text);
  if (JSON.stringify(body) !== text) return inScript(text);
  const code = JSON.stringify(body, undefined, 2).replaceAll('<', '\\u003c').replaceAll('\n', `\n${indent}`);
  return `JSON.stringify(${code})`;
}

export function typescript(call: Call): string {
  const members = call.columns.map(
    ({ name, jsonType }) => `  ${JSON.stringify(name)}: ${typeOf[jsonType]} | null;`,
  );
  const row =
    members.length === 0
      ? 'type Row = Record<string, unknown>;'
      : `interface Row {\n${members.join('\n')}\n}`;
  const key = call.key === undefined ? `env.${keyName} ?? ''` : JSON.stringify(call.key);
  return `${call.key === undefined ? "import { env } from 'node:process';\n\n" : ''}${row}

const response = await fetch(${JSON.stringify(addressOfCall(call))}, {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    'x-service-api-key': ${key},
  },
  body: ${bodyCode(call, '  ')},
});
if (!response.ok) throw new Error(await response.text());
const { data } = (await response.json()) as { data: Row[] };
console.log(data);`;
}

export function python(call: Call): string {
  const key = call.key === undefined ? `os.environ["${keyName}"]` : JSON.stringify(call.key);
  return `import json
${call.key === undefined ? 'import os\n' : ''}import urllib.request
from decimal import Decimal

request = urllib.request.Request(
    ${JSON.stringify(addressOfCall(call))},
    data=${JSON.stringify(bodyText(call))}.encode(),
    headers={
        "content-type": "application/json",
        "x-service-api-key": ${key},
    },
)
with urllib.request.urlopen(request) as response:
    data = json.load(response, parse_float=Decimal)["data"]
print(data)`;
}

const inMarkup = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
/** No text may end the script that it is in. */
const inScript = (text: string) => JSON.stringify(text).replaceAll('<', '\\u003c');

/** For a page of one of the origins that a browser key is bound to; that key may be public. */
export function webPage(call: Call): string {
  return `<!doctype html>
<meta charset="utf-8">
<title>${inMarkup(call.label)}</title>
<table></table>
<script type="module">
  const response = await fetch(${inScript(addressOfCall(call))}, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-api-key': ${inScript(call.key ?? 'dhk_…')} },
    body: ${bodyCode(call, '    ')},
  });
  if (!response.ok) throw new Error(await response.text());
  const { data } = await response.json();
  const table = document.querySelector('table');
  for (const cells of [Object.keys(data[0] ?? {}), ...data.map(Object.values)]) {
    const row = table.insertRow();
    for (const cell of cells) row.insertCell().textContent = cell;
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
