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
  type Tags,
  visit,
  type YAMLMap,
} from 'yaml';
import { ExactNumber, exactNumber } from '../exact-numbers.ts';
import type { Fault } from './fault.ts';

const numberTag: ScalarTag = {
  identify: (value) => value instanceof ExactNumber,
  default: true,
  tag: 'tag:yaml.org,2002:float',
  test: /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/,
  resolve: exactNumber,
  stringify: ({ value }) => (value instanceof ExactNumber ? value.digits : String(value)),
};

const options = { customTags: (tags: Tags): Tags => [numberTag, ...tags], version: '1.2' as const };

export const writeYaml = (value: object): string =>
  new Document(value, { ...options, aliasDuplicateObjects: false }).toString({ lineWidth: 0 });

export type Shape =
  | 'text'
  | 'whole number'
  | 'boolean'
  | 'any'
  | 'object'
  | { oneOf: readonly string[] }
  /** `what` completes "must be". */
  | { pattern: string; what: string }
  /** The value, null, or an expression for a value that is not in the file. */
  | { setting: Shape }
  | { list: Shape }
  | Members;

/** An expression for a value that is not in the file. */
const expression = /^\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}$/;
export const envName = (value: unknown): string | undefined =>
  typeof value === 'string' ? expression.exec(value)?.[1] : undefined;

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

/**
 * Reports all faults of the text. Returns undefined if it is no YAML of the shape; with unknown members it has the
 * shape, so that the caller can report its other faults, too.
 */
export function readYaml<T>(
  text: string,
  { origin, shape, faults }: { origin: Origin; shape: Shape; faults: Fault[] },
): Located<T> | undefined {
  const lines = new LineCounter();
  let hasShape = true;
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: origin.line + line - 1, column: origin.column + Math.max(col, 1) - 1 };
  };
  const reportUnknown: Check['reportUnknown'] = (offset, detail) => {
    faults.push({ file: origin.file, ...at(offset), detail });
  };
  const report: Check['report'] = (offset, detail) => {
    hasShape = false;
    reportUnknown(offset, detail);
  };
  const parsed = parseWhole(text, { lineCounter: lines }, report);
  if (parsed === undefined) return undefined;
  const { document, value } = parsed;
  checkShape(document.contents, { shape, name: '', report, reportUnknown });
  if (!hasShape) return undefined;
  const place: Located<T>['place'] = (path) => {
    for (let length = path.length; length > 0; length--) {
      const node = document.getIn(path.slice(0, length), true) as Node | undefined;
      if (node?.range) return at(node.range[0]);
    }
    return at(0);
  };
  return { value: value as T, place };
}

/** YAML of other products, whose shape is not known. Throws a SyntaxError. `tags` are theirs. */
export function parseYaml(text: string, tags: readonly ScalarTag[] = []): unknown {
  const lines = new LineCounter();
  const parsed = parseWhole(text, { lineCounter: lines, tags }, (offset, detail) => {
    throw new SyntaxError(`Line ${lines.linePos(offset).line} ${detail}`);
  });
  return parsed?.value;
}

/** The document, and its value as JSON has it. Undefined after a fault was reported. */
function parseWhole(
  text: string,
  { lineCounter, tags = [] }: { lineCounter: LineCounter; tags?: readonly ScalarTag[] },
  report: Check['report'],
) {
  try {
    const customTags = (known: Tags): Tags => [...tags, ...options.customTags(known)];
    const document = parseDocument(text, { ...options, customTags, lineCounter });
    for (const { pos, message } of document.errors)
      report(pos[0], `is not YAML: ${message.split('\n')[0]?.replace(/ at line \d+.*$/, '')}`);
    if (document.errors.length > 0) return undefined;
    const infinite: number[] = [];
    visit(document, {
      Scalar: (_, node) => {
        if (typeof node.value === 'number' && !Number.isFinite(node.value)) infinite.push(offsetOf(node));
      },
    });
    for (const offset of infinite) report(offset, 'is a number that JSON does not have');
    return infinite.length > 0 ? undefined : { document, value: document.toJS() as unknown };
  } catch (err) {
    // Levels beyond the stack of the library, or aliases that repeat more than it allows.
    if (!(err instanceof RangeError || err instanceof ReferenceError)) throw err;
    report(0, 'has too many levels or aliases');
    return undefined;
  }
}

interface Check {
  shape: Shape;
  name: string;
  report(offset: number, detail: string): void;
  reportUnknown(offset: number, detail: string): void;
}

function checkShape(node: unknown, check: Check): void {
  const { shape, name, report } = check;
  const fail = (what: string) => report(offsetOf(node), `${name || 'The file'} must be ${what}`);
  const value = isScalar(node) ? node.value : undefined;
  if (shape === 'any') return;
  if (shape === 'text') {
    if (typeof value !== 'string') fail('a text');
  } else if (shape === 'whole number') {
    if (!Number.isSafeInteger(value)) fail('a whole number');
  } else if (shape === 'boolean') {
    if (typeof value !== 'boolean') fail('true or false');
  } else if (shape === 'object') {
    if (!isMap(node)) fail('a mapping');
  } else if ('oneOf' in shape) {
    if (!shape.oneOf.some((one) => one === value)) fail(`one of ${shape.oneOf.join(', ')}`);
  } else if ('pattern' in shape) {
    if (typeof value !== 'string' || !new RegExp(shape.pattern).test(value)) fail(shape.what);
  } else if ('setting' in shape) {
    if (value !== null && envName(value) === undefined) checkShape(node, { ...check, shape: shape.setting });
  } else if ('list' in shape) {
    if (!isSeq(node)) fail('a list');
    else
      node.items.forEach((item, i) => {
        checkShape(item, { ...check, shape: shape.list, name: `${name}[${i}]` });
      });
  } else if (isMap(node)) checkMembers(node, { ...check, shape });
  else fail('a mapping');
}

const offsetOf = (node: unknown): number => (node as Node | null)?.range?.[0] ?? 0;

function checkMembers(node: YAMLMap, check: Check & { shape: Members }): void {
  const { name, report, reportUnknown } = check;
  const { members, required = [] } = check.shape;
  const prefix = name === '' ? '' : `${name}.`;
  const seen = new Set<string>();
  for (const { key, value } of node.items) {
    const member = String((key as { value?: unknown }).value ?? key);
    seen.add(member);
    const shape = Object.hasOwn(members, member) ? members[member] : undefined;
    const known = Object.keys(members).join(', ');
    if (shape === undefined) reportUnknown(offsetOf(key), `${member} is unknown; known are ${known}`);
    else checkShape(value, { ...check, shape, name: prefix + member });
  }
  for (const member of required)
    if (!seen.has(member)) report(offsetOf(node), `${prefix}${member} is missing`);
}
