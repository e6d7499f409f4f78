/** What the hub answered to a call that was tried. */

import { call, Failure, problemOf } from '../../../api/client.ts';
import { splitEnding } from '../../../state/rows/stream.ts';
import { counted, duration } from '../../../ui/format.ts';
import { OtherResult } from '../../../ui/table.tsx';
import type { TryRequest } from './forms.ts';

export interface Answer {
  request: TryRequest;
  status: number;
  ms: number;
  headers: [string, string][];
  text: string;
  /** Undefined if the answer has no rows. */
  rows: number | undefined;
  /** Why the rows broke off; undefined if they did not. */
  brokeOff: string | undefined;
  /** True if it was sent with the key that was created here. */
  isNewKey: boolean;
}

const shownHeaders = ['etag', 'cache-control', 'cache-status', 'age', 'x-request-id'];
const shownLettersMax = 60_000;

export async function tryCall(request: TryRequest, withKey: string | undefined): Promise<Answer> {
  const { method, accept } = request;
  const begun = performance.now();
  const frame = { request, isNewKey: withKey !== undefined };
  const asked = withEnding(request);
  const options = { method, accept, body: asked.body, ...(withKey === undefined ? {} : { withKey }) };
  try {
    const response = await call(asked.path, options);
    const { text, brokeOff } = await readText(response, asked !== request);
    const headers = shownHeaders.flatMap((name): [string, string][] => {
      const value = response.headers.get(name);
      return value === null ? [] : [[name, value]];
    });
    // A failure cuts the list of rows.
    const rows = rowsIn(brokeOff === undefined ? text : `${text}]}`);
    const said = { text: readable(text), rows, brokeOff, status: response.status, headers };
    return { ...frame, ...said, ms: performance.now() - begun };
  } catch (err) {
    if (!(err instanceof Failure)) throw err;
    const problem = problemOf(err);
    const text = JSON.stringify(problem, undefined, 2);
    return {
      ...frame,
      status: problem.status,
      ms: performance.now() - begun,
      headers: [],
      text,
      rows: undefined,
      brokeOff: undefined,
    };
  }
}

/** MCP and the calls of classifiers have no such option. */
const readsRows = /\/(?:execute|data)(?=[/?]|$)/;

/** Asks for the reason of a failure after the first rows, which a program gets as a connection that breaks off. */
function withEnding(request: Pick<TryRequest, 'path' | 'body'>): Pick<TryRequest, 'path' | 'body'> {
  const { path, body } = request;
  if (!readsRows.test(path)) return request;
  if (body === undefined) return { path: `${path}${path.includes('?') ? '&' : '?'}options.ending=1`, body };
  const options = /^(.*),"options":\{(.*)\}\}$/s.exec(body);
  return {
    path,
    body:
      options === null
        ? `${body.slice(0, -1)},"options":{"ending":true}}`
        : `${options[1]},"options":{${options[2]},"ending":true}}`,
  };
}

const lost = 'The connection to the hub, or of the hub to the database, was lost.';

/** What came of an answer, and why it broke off. */
async function readText(
  response: Response,
  hasEnding: boolean,
): Promise<{ text: string; brokeOff: string | undefined }> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  try {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      text += part.value;
    if (!hasEnding) return { text, brokeOff: undefined };
    const { before, ending } = splitEnding(text);
    return { text: before, brokeOff: ending.problem && (ending.problem.detail ?? lost) };
  } catch {
    return { text, brokeOff: lost };
  }
}

/** One row in a line. The text of the hub stays, so that no digit is lost. */
function readable(text: string): string {
  const shown = text
    .replace(/^\{"data":\[\{/, '{"data":[\n{')
    .replaceAll('},{', '},\n{')
    .replace(/\}\](,"truncated":true)?\}\s*$/, '}\n]$1}');
  const isCut = shown.length > shownLettersMax;
  return isCut ? `${shown.slice(0, shownLettersMax)}\n… and more` : shown;
}

function rowsIn(text: string): number | undefined {
  try {
    const { data } = JSON.parse(text) as { data?: unknown };
    return Array.isArray(data) ? data.length : undefined;
  } catch {
    return undefined;
  }
}

interface AnswerViewProps {
  answer: Answer | undefined;
  /** The call that the page shows now; undefined if it cannot be tried. */
  shown: TryRequest | undefined;
}

export function AnswerView({ answer, shown }: AnswerViewProps) {
  if (answer === undefined) {
    return (
      <section class="use-answer" aria-label="Answer">
        <p class="empty">Try sends the call from here, with the key of this tab. The answer appears here.</p>
      </section>
    );
  }
  const { request, status, ms, headers, text, rows, brokeOff, isNewKey } = answer;
  return (
    <section class="use-answer" aria-label="Answer">
      <p class="answer-line" role="status">
        <b class={status >= 200 && status < 300 ? 'good-text' : 'bad-text'}>{status || 'No answer'}</b>
        {rows !== undefined && <b>{counted(rows, 'row')}</b>}
        <span class="note">
          {duration(ms)}, with {isNewKey ? 'the new key' : 'the key of this tab'}
        </span>
      </p>
      {!isSame(request, shown) && <OtherResult>This is the answer to an earlier call.</OtherResult>}
      {brokeOff !== undefined && (
        <p class="banner" role="alert">
          The answer broke off after {rows === undefined ? 'this part' : counted(rows, 'row')}: {brokeOff} A
          program gets no reason; its connection ends.
        </p>
      )}
      <div class="answer-head">
        <div>
          {request.method} /{request.path}
        </div>
        {headers.map(([name, value]) => (
          <div key={name}>
            {name}: <b>{value}</b>
          </div>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it. */}
      <pre tabIndex={0} role="region" aria-label="Body of the answer">
        {text}
      </pre>
    </section>
  );
}

const isSame = (one: TryRequest, other: TryRequest | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
