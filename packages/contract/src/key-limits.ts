/**
 * The limits of a key in one table. The types of the stored document, the message, the rules for delegated keys, and the
 * enforcement in the services all derive from it. After a new row, the compiler reports what is missing: the field in
 * `proto`, the member of the REST body and answer, and the enforcement.
 */

import { toUserLimit, type UserLimit } from './user-limit.ts';

/**
 * The kind of a limit, which decides what keys created with the key may have: a subset of a `list`, at most an
 * `upperBound`, the same `pinned` values, a `flag` that stays set, and the `same` value.
 */
export type KeyLimitKind = 'list' | 'upperBound' | 'pinned' | 'flag' | 'same';

interface KeyLimitRow {
  kind: KeyLimitKind;
  /** The services that enforce the limit. */
  enforcedBy: readonly ('gateway' | 'catalog' | 'executor' | 'ml')[];
}

export const keyLimits = {
  hubIds: { kind: 'list', enforcedBy: ['catalog', 'executor', 'ml'] },
  queryIds: { kind: 'list', enforcedBy: ['catalog', 'executor', 'ml'] },
  /**
   * Queries as `hub path/path`, such as `shop/orders/by-region`, or by their ids. A name stands for the query that has it
   * when the key is used. Only one of `queryIds` and `queries` can be set.
   */
  queries: { kind: 'list', enforcedBy: ['catalog', 'executor', 'ml'] },
  /** Classifiers that may be trained, whose examples may be read and changed. */
  classifierIds: { kind: 'list', enforcedBy: ['ml'] },
  /** Origins of browsers that may use the key. */
  origins: { kind: 'list', enforcedBy: ['gateway'] },
  /** Variables with values that the caller cannot override. */
  context: { kind: 'pinned', enforcedBy: ['catalog', 'executor', 'ml'] },
  ratePerMinute: { kind: 'upperBound', enforcedBy: ['gateway'] },
  maxRows: { kind: 'upperBound', enforcedBy: ['executor'] },
  /** Refuses variables that a query does not know. */
  strict: { kind: 'flag', enforcedBy: ['executor'] },
  /** Calls also need the token of a signed-in user. */
  user: { kind: 'same', enforcedBy: ['gateway', 'executor'] },
} as const satisfies Record<string, KeyLimitRow>;

type Table = typeof keyLimits;
export type KeyLimit = keyof Table;

export const keyLimitNames = Object.keys(keyLimits) as KeyLimit[];

/** The limits that a service enforces. They are the keys of the service's table of enforcements. */
export type LimitEnforcedBy<Service extends Table[KeyLimit]['enforcedBy'][number]> = {
  [L in KeyLimit]: Service extends Table[L]['enforcedBy'][number] ? L : never;
}[KeyLimit];

/** Pinned values are stored as JSON text in `contextJson`, so that no digit is lost. */
type Field<L extends KeyLimit> = Table[L]['kind'] extends 'pinned' ? `${L}Json` : L;

interface Values {
  list: string[];
  upperBound: number;
  pinned: string;
  flag: boolean;
  same: UserLimit;
}

/** The stored limits of a key. An absent limit does not apply. */
export type KeyLimitValues = { [L in KeyLimit as Field<L>]?: Values[Table[L]['kind']] };

type Repeated = { [L in KeyLimit]: Table[L]['kind'] extends 'list' | 'pinned' ? Field<L> : never }[KeyLimit];

/** The limits as a protobuf message, in which an empty list or text means no limit. */
export type KeyLimitFields = Required<Pick<KeyLimitValues, Repeated>> & {
  [F in Exclude<keyof KeyLimitValues, Repeated>]?: KeyLimitValues[F] | undefined;
};

export const fieldOf = (limit: KeyLimit): keyof KeyLimitValues =>
  (keyLimits[limit].kind === 'pinned' ? `${limit}Json` : limit) as keyof KeyLimitValues;

const fieldNames: ReadonlySet<string> = new Set(keyLimitNames.map(fieldOf));
const emptyOf = { list: [], pinned: '', upperBound: undefined, flag: undefined, same: undefined };

export function toFields(values: KeyLimitValues): KeyLimitFields {
  const fields = keyLimitNames.map((limit) => {
    const field = fieldOf(limit);
    return [field, values[field] ?? emptyOf[keyLimits[limit].kind]];
  });
  return Object.fromEntries(fields) as KeyLimitFields;
}

/** A stored limit that a newer version of the hub has added; undefined if there is none. */
export const unknownLimitOf = (values: KeyLimitValues): string | undefined =>
  Object.keys(values).find((name) => !fieldNames.has(name));

/** Converts the message to stored limits. Leaves out empty fields, which do not limit. */
export function fromFields(fields: KeyLimitFields | undefined): KeyLimitValues {
  const values = keyLimitNames.flatMap((limit) => {
    const field = fieldOf(limit);
    const value = fields?.[field];
    const isEmpty = value === undefined || value === '' || value === false;
    if (isEmpty || (Array.isArray(value) && value.length === 0)) return [];
    return [[field, limit === 'user' ? toUserLimit(value as UserLimit) : value]];
  });
  return Object.fromEntries(values) as KeyLimitValues;
}

/** True for a key that is limited to some queries. */
export const isOfQueries = ({ queryIds, queries }: Pick<KeyLimitValues, 'queryIds' | 'queries'>): boolean =>
  (queryIds?.length ?? 0) > 0 || (queries?.length ?? 0) > 0;

/** What answers have in place of the pinned value of a secret variable. Sent back, it keeps the value. */
export const withheldValue = '********';

/** Bounds of the values themselves. */
export const keyLimitBounds = {
  /** The number of entries of each list. */
  entries: { min: 1, max: 200 },
  /** The length of one origin. */
  originLength: { min: 1, max: 300 },
  /** The number of pinned variables, and the length of their JSON text, which is sent with every call of the key. */
  pinned: { min: 0, max: 200 },
  pinnedJsonLength: { min: 2, max: 16_384 },
  ratePerMinute: { min: 1, max: 100_000_000 },
  maxRows: { min: 1, max: 4_294_967_295 },
} as const;
