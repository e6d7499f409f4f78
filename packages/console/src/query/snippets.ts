/** Code that runs exactly this query with exactly these values. The key is never in it. */

import { addressOf } from '../api/client.ts';

export interface Snippet {
  name: string;
  text: string;
}

interface Call {
  queryId: string;
  /** JSON text of the values. */
  context: string;
  columns: { name: string; type: string }[];
}

const shellQuoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
export const bodyText = ({ queryId, context }: Call): string =>
  `{"queryId":${JSON.stringify(queryId)},"context":${context}}`;

export function snippetsOf(call: Call): Snippet[] {
  return [
    { name: 'curl', text: curl(call) },
    { name: 'TypeScript', text: typescript(call) },
    { name: 'Python', text: python(call) },
  ];
}

export function curl(call: Call): string {
  return [
    `curl -s ${shellQuoted(addressOf('v1/queries/execute'))}`,
    `-H "x-service-api-key: $DATAHUB_KEY"`,
    `-H 'content-type: application/json'`,
    `-d ${shellQuoted(bodyText(call))}`,
  ].join(' \\\n  ');
}

const scalar: Record<string, string> = {
  integer: 'number',
  int4: 'number',
  boolean: 'boolean',
  bool: 'boolean',
};
const large = /^(bigint|int8|numeric|decimal|number)/;

/** How the hub writes a value of a database's type: what has more than 15 digits comes as a text. */
function typeOf(type: string): string {
  if (type.endsWith('[]')) return 'unknown[]';
  if (/^json/.test(type)) return 'unknown';
  if (/^(float|double|real)/.test(type)) return 'number | string';
  if (/^(small|tiny|medium)?int/.test(type)) return 'number';
  return scalar[type] ?? (large.test(type) ? 'number | string' : 'string');
}

function typescript(call: Call): string {
  const members = call.columns.map(({ name, type }) => `  ${JSON.stringify(name)}: ${typeOf(type)} | null;`);
  const row =
    members.length === 0
      ? 'type Row = Record<string, unknown>;'
      : `interface Row {\n${members.join('\n')}\n}`;
  return `import { env } from 'node:process';

${row}

const response = await fetch(${JSON.stringify(addressOf('v1/queries/execute'))}, {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    'x-service-api-key': env.DATAHUB_KEY ?? '',
  },
  // As text, so that no digit of a large number is lost.
  body: ${templateLiteral(bodyText(call))},
});
if (!response.ok) throw new Error(await response.text());
const { data } = (await response.json()) as { data: Row[] };
console.log(data);`;
}

const templateLiteral = (text: string): string => JSON.stringify(text);

function python(call: Call): string {
  return `import json
import os
import urllib.request
from decimal import Decimal

request = urllib.request.Request(
    ${JSON.stringify(addressOf('v1/queries/execute'))},
    data=${JSON.stringify(bodyText(call))}.encode(),
    headers={
        "content-type": "application/json",
        "x-service-api-key": os.environ["DATAHUB_KEY"],
    },
)
with urllib.request.urlopen(request) as response:
    data = json.load(response, parse_float=Decimal)["data"]
print(data)`;
}

/** For a page of one of the origins that a browser key is bound to; that key may be public. */
export function browserSnippet(key: string, call: Call): string {
  return `<script type="module">
  const response = await fetch(${JSON.stringify(addressOf('v1/queries/execute'))}, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-api-key': ${JSON.stringify(key)} },
    body: ${JSON.stringify(bodyText(call)).replaceAll('</', '<\\/')},
  });
  const { data } = await response.json();
  console.table(data);
</script>`;
}
