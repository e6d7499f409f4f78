/** Programs that post JSON to the hub, as they can be pasted and run. */

export interface Post {
  address: string;
  /** JSON text, so that no digit is lost. */
  body: string;
  /** A key that was just created. Without it, programs read the key from the environment. */
  key?: string | undefined;
}

export const keyName = 'DATAHUB_KEY';

const shellQuoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const shellKey = (key: string | undefined) =>
  key === undefined ? `"x-service-api-key: $${keyName}"` : shellQuoted(`x-service-api-key: ${key}`);

export function postCurl({ address, body, key }: Post): string {
  return [
    `curl -s ${shellQuoted(address)}`,
    `-H ${shellKey(key)}`,
    `-H 'content-type: application/json'`,
    `-d ${shellQuoted(body)}`,
  ].join(' \\\n  ');
}

/** No text may end the script that it is in. */
export const inScript = (text: string) => JSON.stringify(text).replaceAll('<', '\\u003c');

/** A body as code, indented by `indent`. As a text if a number would lose digits in JavaScript. */
export function bodyCode(text: string, indent: string): string {
  const body: unknown = JSON.parse(text);
  if (JSON.stringify(body) !== text) return inScript(text);
  const code = JSON.stringify(body, undefined, 2).replaceAll('<', '\\u003c').replaceAll('\n', `\n${indent}`);
  return `JSON.stringify(${code})`;
}

interface TypescriptOptions {
  /** The type of the answer. */
  answer?: string;
  /** For an answer of rows, which are printed: the declaration of the type `Row`. */
  row?: string;
}

const cutRemark = 'This is not all: a limit cut the rows, or there are further results.';

export function postTypescript(post: Post, options: TypescriptOptions = {}): string {
  const { row, answer = row === undefined ? 'unknown' : '{ data: Row[]; truncated?: true }' } = options;
  const { address, body, key } = post;
  const taken = row === undefined ? 'answer' : '{ data, truncated }';
  return [
    ...(key === undefined ? ["import { env } from 'node:process';", ''] : []),
    ...(row === undefined ? [] : [row, '']),
    `const response = await fetch(${JSON.stringify(address)}, {`,
    "  method: 'POST',",
    '  headers: {',
    "    'content-type': 'application/json',",
    `    'x-service-api-key': ${key === undefined ? `env.${keyName} ?? ''` : JSON.stringify(key)},`,
    '  },',
    `  body: ${bodyCode(body, '  ')},`,
    '});',
    'if (!response.ok) throw new Error(await response.text());',
    `const ${taken} = (await response.json()) as ${answer};`,
    ...(row === undefined
      ? ['console.log(answer);']
      : ['console.log(data);', `if (truncated) console.warn('${cutRemark}');`]),
  ].join('\n');
}

/** `hasRows` is true for an answer of rows, which are printed. */
export function postPython({ address, body, key }: Post, hasRows = false): string {
  const printed = hasRows
    ? `print(answer["data"])
if answer.get("truncated"):
    print("${cutRemark}", file=sys.stderr)`
    : 'print(answer)';
  return `import json
${key === undefined ? 'import os\n' : ''}${hasRows ? 'import sys\n' : ''}import urllib.request
from decimal import Decimal

request = urllib.request.Request(
    ${JSON.stringify(address)},
    data=${JSON.stringify(body)}.encode(),
    headers={
        "content-type": "application/json",
        "x-service-api-key": ${key === undefined ? `os.environ["${keyName}"]` : JSON.stringify(key)},
    },
)
with urllib.request.urlopen(request) as response:
    answer = json.load(response, parse_float=Decimal)
${printed}`;
}
