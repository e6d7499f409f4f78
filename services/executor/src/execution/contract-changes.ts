/**
 * Lists how the contract of a query changes: its columns and its variables. A change is breaking if a caller of the old
 * query can fail with the new one, because rows lose a guarantee or values are refused.
 */

import { cutText } from '@datahub/contract/limits';
import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import type {
  Column,
  ContractChange,
  DescribedVariable,
  DescribeQueryResponse,
} from '@datahub/proto/executor/v1/executor';
import { declare } from '@datahub/statement/values';

export interface Contract {
  variables: readonly Variable[];
  /** True if the query can be called over GET. */
  isRead: boolean;
  signature: DescribeQueryResponse;
}

type Change = Omit<ContractChange, 'kind' | 'name'>;

export function contractChanges(from: Contract, to: Contract): ContractChange[] {
  const needed = { from: neededIn(from), to: neededIn(to) };
  const declared = { from: declaredIn(from), to: declaredIn(to) };
  return [
    ...compareAll('column', [from.signature.columns, to.signature.columns], {
      keyOf: ({ name }) => name,
      isAddedBreaking: () => false,
      compare: compareColumns,
    }),
    ...compareAll('variable', [from.signature.variables, to.signature.variables], {
      keyOf: ({ key }) => key,
      isAddedBreaking: ({ key }) => needed.to(key),
      compare: (old, next) => {
        const [before, after] = [declared.from(old.key), declared.to(old.key)];
        const isSecret: [boolean, boolean] = [before?.secret === true, after?.secret === true];
        return [
          ...compareVariables(old, next, { old: before?.type, next: after?.type }),
          ...changed('required', [needed.from(old.key), needed.to(old.key)], (_, isNeeded) => isNeeded),
          ...compareEnums(before, after),
          ...changed('secret', isSecret, (_, isNow) => isNow && from.isRead),
        ];
      },
    }),
  ];
}

/** Returns a function that says whether a call must set a variable. */
const neededIn = ({ variables }: Contract) => {
  const optional = new Set(
    variables.filter((one) => one.valueJson !== undefined || one.required === false).map(({ key }) => key),
  );
  return (key: string) => !optional.has(key);
};

const declaredIn = ({ variables }: Contract) => {
  const byKey = new Map(variables.map((variable) => [variable.key, variable]));
  return (key: string) => byKey.get(key);
};

interface ComparisonRules<T> {
  keyOf(one: T): string;
  isAddedBreaking(one: T): boolean;
  compare(from: T, to: T): Change[];
}

function compareAll<T>(kind: string, [from, to]: [T[], T[]], rules: ComparisonRules<T>): ContractChange[] {
  const { keyOf, isAddedBreaking, compare } = rules;
  const old = new Map(from.map((one) => [keyOf(one), one]));
  const next = new Map(to.map((one) => [keyOf(one), one]));
  const ofOld = from.flatMap((one): ContractChange[] => {
    const name = keyOf(one);
    const now = next.get(name);
    // Over GET, with `strict` and in records, a variable that the query does not know is refused.
    if (now === undefined) return [{ kind, name, change: 'removed', breaking: true }];
    return compare(one, now).map((change) => ({ kind, name, ...change }));
  });
  const added = to.filter((one) => !old.has(keyOf(one)));
  return [
    ...ofOld,
    ...added.map((one) => ({ kind, name: keyOf(one), change: 'added', breaking: isAddedBreaking(one) })),
  ];
}

function changed<V extends string | boolean | undefined>(
  member: string,
  [from, to]: [V, V],
  isBreaking: (from: V, to: V) => boolean,
): Change[] {
  if (from === to) return [];
  return [{ change: 'changed', breaking: isBreaking(from, to), member, ...sidesOf(from, to) }];
}

const sidesOf = (from: unknown, to: unknown): Pick<Change, 'from' | 'to'> => ({
  ...(from === undefined ? {} : { from: String(from) }),
  ...(to === undefined ? {} : { to: String(to) }),
});

const compareColumns = (from: Column, to: Column): Change[] => [
  ...changed('type', [from.type, to.type], breaksForm),
  ...changed('jsonType', [from.jsonType, to.jsonType], (old = '', next = '') => !isWithin(next, old)),
  ...changed('nullable', [from.nullable, to.nullable], (_, isNullable) => isNullable === true),
];

/** Types whose values look alike in answers. All others have a form of their own. */
const forms: Readonly<Record<string, readonly string[]>> = {
  whole: ['tinyint', 'smallint', 'mediumint', 'int', 'integer', 'bigint', 'year', 'oid'],
  fraction: ['real', 'double precision', 'float', 'double', 'numeric', 'decimal'],
  text: ['text', 'character', 'character varying', 'char', 'varchar', 'name', 'citext', 'enum', 'set'],
  bytes: ['binary', 'varbinary', 'blob'],
  json: ['json', 'jsonb'],
};
const formOf = new Map(
  Object.entries(forms).flatMap(([form, types]) => types.map((type) => [type, form] as const)),
);

/** Of arrays, the types whose elements are texts if they have many digits. */
const longTypes: ReadonlySet<string> = new Set(['bigint', 'numeric', 'decimal']);

/** A date in place of a timestamp breaks a caller, although both are strings in JSON. */
function breaksForm(from: string, to: string): boolean {
  const [old, next] = [formOfType(from), formOfType(to)];
  if (next.isLong && !old.isLong) return true;
  return old.form !== next.form && !(old.form === 'fraction' && next.form === 'whole');
}

function formOfType(type: string): { form: string; isLong: boolean } {
  const [, element = '', brackets = ''] = /^(.*?)(?: unsigned)?((?:\[\])*)$/.exec(type) ?? [];
  const form = `${formOf.get(element) ?? element}${brackets}`;
  return { form, isLong: brackets !== '' && longTypes.has(element) };
}

const isWithin = (type: string, others: string) =>
  type.split('|').every((one) => others.split('|').includes(one));

/** For each declared type, the wider types that accept all its values. */
const wider: Record<string, readonly string[]> = {
  integer: ['bigint', 'number', 'decimal'],
  bigint: ['decimal'],
  number: ['decimal'],
  date: ['timestamp'],
};

/** Also of lists of both. */
const isWider = (next: string, old: string): boolean =>
  next.endsWith('[]') === old.endsWith('[]') &&
  wider[old.replace('[]', '')]?.includes(next.replace('[]', '')) === true;

function compareVariables(
  from: DescribedVariable,
  to: DescribedVariable,
  declared: { old: string | undefined; next: string | undefined },
): Change[] {
  const { old = '', next } = declared;
  // For a type that it inferred, the database may accept other values, too.
  const isNarrower = () => next !== undefined && next !== old && !isWider(next, old);
  return [
    ...changed('type', [from.type, to.type], isNarrower),
    ...changed('list', [from.list, to.list], () => true),
    ...changed('nullable', [from.nullable, to.nullable], (_, isNullable) => !isNullable),
  ];
}

/** The most characters of an enum in `from` and `to`. */
const enumCharactersMax = 200;

/** Enums are the same if they have the same values of the new type. */
function compareEnums(from: Variable | undefined, to: Variable | undefined): Change[] {
  const old = from && allowedOf(from, to?.type);
  const next = to && allowedOf(to, to.type);
  const takesAllOfOld = accepts(next, old);
  if (takesAllOfOld && accepts(old, next)) return [];
  const sides = sidesOf(shortened(from?.enumJson), shortened(to?.enumJson));
  return [{ change: 'changed', breaking: !takesAllOfOld, member: 'enum', ...sides }];
}

type Allowed = ReadonlySet<string> | undefined;

/** Without an enum, all values are allowed. */
const accepts = (allowed: Allowed, values: Allowed): boolean =>
  allowed === undefined || (values !== undefined && [...values].every((value) => allowed.has(value)));

const booleans = /^boolean(\[\])?$/;

/** An enum of true and false allows all values of a boolean. */
const allowedOf = ({ key, enumJson }: Variable, type: string | undefined): Allowed => {
  const { allowed } = declare(key, { key, type, enumJson });
  return allowed?.size === 2 && booleans.test(type ?? '') ? undefined : allowed;
};

const shortened = (text: string | undefined): string | undefined =>
  text === undefined || text.length <= enumCharactersMax
    ? text
    : `${cutText(text, enumCharactersMax).toWellFormed()}…`;
