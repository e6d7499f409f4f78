/** YAML with all digits of numbers, whose faults have a line and a column. */

import {
  Document,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type ScalarTag,
  type YAMLMap,
} from 'yaml';
import { ExactNumber } from '../exact-numbers.ts';
import type { Fault } from './model.ts';

const exactNumber: ScalarTag = {
  identify: (value) => value instanceof ExactNumber,
  default: true,
  tag: 'tag:yaml.org,2002:float',
  test: /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/,
  resolve: (text) => (String(Number(text)) === text ? Number(text) : new ExactNumber(text)),
  stringify: ({ value }) => (value instanceof ExactNumber ? value.digits : String(value)),
};

const options = { customTags: (tags: unknown[]) => [exactNumber, ...tags] as never, version: '1.2' as const };

export const writeYaml = (value: object): string =>
  new Document(value, { ...options, aliasDuplicateObjects: false }).toString({ lineWidth: 0 });

export type Shape = 'text' | 'any' | 'object' | { list: Shape } | Members;

interface Members {
  members: Readonly<Record<string, Shape>>;
  required?: readonly string[];
}

export interface Located<T> {
  value: T;
  /** Finds the place of a member, by the names and indexes that lead to it; the nearest one that exists. */
  place(path: readonly (string | number)[]): { line: number; column: number };
}

/** Where the text begins in its file. */
export interface Origin {
  file: string;
  line: number;
  column: number;
}

/** Reports all faults of the text. Returns undefined if it is no YAML of the shape. */
export function readYaml<T>(
  text: string,
  { origin, shape, faults }: { origin: Origin; shape: Shape; faults: Fault[] },
): Located<T> | undefined {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...options, lineCounter: lines });
  const before = faults.length;
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: origin.line + line - 1, column: origin.column + Math.max(col, 1) - 1 };
  };
  const report = (offset: number, detail: string) =>
    faults.push({ file: origin.file, ...at(offset), detail });
  for (const { pos, message } of document.errors)
    report(pos[0], `is not YAML: ${message.split('\n')[0]?.replace(/ at line \d+.*$/, '')}`);
  if (document.errors.length === 0) checkShape(document.contents, { shape, name: '', report });
  if (faults.length > before) return undefined;
  const place: Located<T>['place'] = (path) => {
    for (let length = path.length; length > 0; length--) {
      const node = document.getIn(path.slice(0, length), true) as Node | undefined;
      if (node?.range) return at(node.range[0]);
    }
    return at(0);
  };
  return { value: document.toJS() as T, place };
}

interface Check {
  shape: Shape;
  name: string;
  report(offset: number, detail: string): void;
}

function checkShape(node: unknown, { shape, name, report }: Check): void {
  const fail = (what: string) => report(offsetOf(node), `${name || 'The file'} must be ${what}`);
  if (shape === 'any') return;
  if (shape === 'text') {
    if (!isScalar(node) || typeof node.value !== 'string') fail('a text');
  } else if (shape === 'object') {
    if (!isMap(node)) fail('a mapping');
  } else if ('list' in shape) {
    if (!isSeq(node)) fail('a list');
    else
      node.items.forEach((item, i) => {
        checkShape(item, { shape: shape.list, name: `${name}[${i}]`, report });
      });
  } else if (isMap(node)) checkMembers(node, { shape, name, report });
  else fail('a mapping');
}

const offsetOf = (node: unknown): number => (node as Node | null)?.range?.[0] ?? 0;

function checkMembers(
  node: YAMLMap,
  { shape: { members, required = [] }, name, report }: Check & { shape: Members },
): void {
  const prefix = name === '' ? '' : `${name}.`;
  const seen = new Set<string>();
  for (const { key, value } of node.items) {
    const member = String((key as { value?: unknown }).value ?? key);
    seen.add(member);
    const shape = Object.hasOwn(members, member) ? members[member] : undefined;
    const known = Object.keys(members).join(', ');
    if (shape === undefined) report(offsetOf(key), `${member} is unknown; known are ${known}`);
    else checkShape(value, { shape, name: prefix + member, report });
  }
  for (const member of required)
    if (!seen.has(member)) report(offsetOf(node), `${prefix}${member} is missing`);
}
