/** Code that runs exactly this query with exactly these values. The key is never in it. */

import type { JsonType } from '@datahub/contract/json-types';

export interface Snippet {
  name: string;
  text: string;
}

interface Call {
  /** The address that executes queries. */
  url: string;
  queryId: string;
  /** JSON text of the values. */
  context: string;
  columns: { name: string; jsonType: JsonType }[];
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
    `curl -s ${shellQuoted(call.url)}`,
    `-H "x-service-api-key: $DATAHUB_KEY"`,
    `-H 'content-type: application/json'`,
    `-d ${shellQuoted(bodyText(call))}`,
  ].join(' \\\n  ');
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

function typescript(call: Call): string {
  const members = call.columns.map(
    ({ name, jsonType }) => `  ${JSON.stringify(name)}: ${typeOf[jsonType]} | null;`,
  );
  const row =
    members.length === 0
      ? 'type Row = Record<string, unknown>;'
      : `interface Row {\n${members.join('\n')}\n}`;
  return `import { env } from 'node:process';

${row}

const response = await fetch(${JSON.stringify(call.url)}, {
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
    ${JSON.stringify(call.url)},
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
  const response = await fetch(${JSON.stringify(call.url)}, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-api-key': ${JSON.stringify(key)} },
    body: ${JSON.stringify(bodyText(call)).replaceAll('</', '<\\/')},
  });
  const { data } = await response.json();
  console.table(data);
</script>`;
}
