/** The file of a query: its settings in comments, then its text. */

import type { Complete } from '@datahub/contract/complete';
import { textOfSteps, transactionCommand } from '@datahub/contract/transactions';
import { declarableTypes } from '@datahub/contract/variable-types';
import type { Fault } from './fault.ts';
import { bySetting, type QueryModel, querySettings, settingsOf } from './model.ts';
import { type Located, readYaml, type Shape, writeYaml } from './yaml.ts';

const fence = '-- ---';

const members: Record<keyof Front, Shape> = {
  label: 'text',
  source: 'text',
  folder: 'any',
  command: 'text',
  context: {
    list: {
      members: {
        key: 'text',
        type: { oneOf: declarableTypes },
        value: 'any',
        required: 'boolean',
        enum: { list: 'any' },
        description: 'text',
        secret: 'boolean',
      } satisfies Record<keyof QueryModel['context'][number], Shape>,
      required: ['key'],
    },
  },
  notNull: { list: 'text' },
  ...bySetting((name): Shape => querySettings[name].shape),
};
const shape: Shape = { members, required: ['label', 'source'] };

type Front = Omit<QueryModel, 'path' | 'text' | 'folder' | 'context' | 'notNull'> & {
  folder?: string | string[];
  context?: QueryModel['context'];
  notNull?: string[];
};

export interface QueryFile {
  file: string;
  model: QueryModel;
  /** The place of a setting. */
  place: Located<unknown>['place'];
  /** The line of the file in which the text begins. */
  textLine: number;
}

export function writeQueryFile(query: QueryModel): string {
  const { folder, context, notNull } = query;
  const isPlain = folder.every((label) => !label.includes('/'));
  const front: Complete<Front> = {
    label: query.label,
    source: query.source,
    folder: folder.length === 0 ? undefined : isPlain ? folder.join('/') : folder,
    command: query.command === 'SELECT' || query.steps ? undefined : query.command,
    context: context.length === 0 ? undefined : context,
    notNull: notNull.length === 0 ? undefined : notNull,
    ...settingsOf(query),
  };
  const known = Object.fromEntries(Object.entries(front).filter(([, value]) => value !== undefined));
  const comments = writeYaml(known)
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => (line === '' ? '--' : `-- ${line}`));
  // The steps have their texts.
  const body = query.steps === undefined ? [query.text] : [];
  return [fence, ...comments, fence, ...body, ''].join('\n');
}

/**
 * Git on Windows can end all lines with CRLF, and editors there can begin a file with a byte order mark. `export` writes
 * neither, so a text that has CRLF itself is between fences that end with LF.
 */
function asWritten(bytes: string): string {
  const text = bytes.replace(/^\uFEFF/, '');
  return text.startsWith(`${fence}\r\n`) ? text.replaceAll('\r\n', '\n') : text;
}

export function readQueryFile(
  bytes: string,
  { file, path, isSql, faults }: { file: string; path: string; isSql: boolean; faults: Fault[] },
): QueryFile | undefined {
  const text = asWritten(bytes);
  const lines = text.split('\n');
  const isFence = (line: string) => line.trimEnd() === fence;
  const end = lines.findIndex((line, i) => i > 0 && isFence(line));
  if (!isFence(lines[0] ?? '') || end === -1) {
    const detail = `The file must begin with ${fence}, settings in comments, and ${fence}.`;
    faults.push({ file, line: 1, column: 1, detail });
    return undefined;
  }
  const front = lines.slice(1, end);
  const odd = front.findIndex((line) => !/^--( |$)/.test(line));
  if (odd !== -1) {
    faults.push({ file, line: odd + 2, column: 1, detail: 'The line must begin with "-- ".' });
    return undefined;
  }
  const yaml = front.map((line) => `${line.slice(3)}\n`).join('');
  const located = readYaml<Front>(yaml, { origin: { file, line: 2, column: 4 }, shape, faults });
  if (located === undefined) return undefined;
  const { folder, ...rest } = located.value;
  const folders = typeof folder === 'string' ? folder.split('/') : (folder ?? []);
  if (!Array.isArray(folders) || !folders.every((label) => typeof label === 'string' && label !== '')) {
    faults.push({ file, ...located.place(['folder']), detail: 'folder must be a text or a list of texts' });
    return undefined;
  }
  // Editors end the last line of a file, so one line feed is not part of the text.
  const body = lines
    .slice(end + 1)
    .join('\n')
    .replace(/\n$/, '');
  const { steps } = rest;
  if ((body.trim() === '') === (steps === undefined)) {
    const detail = steps
      ? 'The query has steps, so nothing may follow the settings.'
      : 'The query has no text.';
    faults.push({ file, line: end + 2, column: 1, detail });
    return undefined;
  }
  const model: QueryModel = {
    ...{ context: [], notNull: [], ...rest },
    ...(isSql ? { command: rest.command ?? 'SELECT' } : {}),
    ...(steps ? { command: transactionCommand } : {}),
    path,
    folder: folders,
    text: steps ? textOfSteps(steps) : body,
  };
  return { file, model, place: located.place, textLine: end + 2 };
}
