/** Hides the values that errors of a query must not have: those that the key of the call sets, and those of secret variables. */

import { elementsOf, membersOf } from '@datahub/contract/json-text';
import type { QueryDefinition } from '../definitions/definition.ts';

/** Shorter ones cannot be told from words and numbers of the message. */
const charactersMin = 3;
/** Of a list. More would take long. */
const elementsMax = 1_000;
const special = /[\\^$.*+?()[\]{}|/-]/g;

interface Hiding {
  variables: QueryDefinition['variables'];
  /** Of the call and of its key, as JSON objects; empty for none. */
  contextJson: string;
  pinnedJson: string;
}

/** Texts and numbers, without quotes. */
export function hiddenValues({ variables, contextJson, pinnedJson }: Hiding): string[] {
  const secrets = variables.flatMap(({ key, secret }) => (secret ? [key] : []));
  const sent = secrets.length === 0 || contextJson === '' ? undefined : membersOf(contextJson);
  const all = [
    ...(pinnedJson === '' ? [] : membersOf(pinnedJson).values()),
    ...secrets.flatMap((key) => sent?.get(key) ?? []),
  ];
  return all
    .flatMap((json) => (json.startsWith('[') ? elementsOf(json, { max: elementsMax }) : [json]))
    .flatMap((json) =>
      /^["\d-]/.test(json) ? [String(json.startsWith('"') ? JSON.parse(json) : json)] : [],
    );
}

/** Replaces these values where a message has them without quotes, unless the text of the statement has them. */
export function withoutHidden(message: string, values: readonly string[], text = ''): string {
  let told = message;
  let lower = told.toLowerCase();
  for (const value of values) {
    const [line = ''] = value.replace(/^-/, '').split('\n');
    if (line.trim().length < charactersMin || text.includes(line)) continue;
    // Expressions take longer.
    if (line.length > lower.length || !lower.includes(line.toLowerCase())) continue;
    const isNumber = /^\d+(\.\d+)?$/.test(line);
    const written = `${line.replace(special, String.raw`\$&`)}${isNumber ? String.raw`(?:\.0+)?` : ''}`;
    told = told.replace(new RegExp(String.raw`(?<!\w)${written}(?!\w)`, 'gi'), '…');
    lower = told.toLowerCase();
  }
  return told;
}
