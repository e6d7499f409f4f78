/**
 * The limits a key can have: one table, from which follow the stored document, the message, what a key made with the
 * key may have, and the tables in the services that enforce the limits. Whoever adds a row sees in the compiler's errors
 * what is missing: the field in `proto`, the member of the REST body and answer, and the enforcement.
 */

/**
 * How a limit narrows a key, and so what keys made with it may have: of a `list` no other entries, no more than an
 * `upperBound`, the same `pinned` values, a `flag` that is set.
 */
export type KeyLimitKind = 'list' | 'upperBound' | 'pinned' | 'flag';

interface KeyLimitRow {
  kind: KeyLimitKind;
  /** The service that refuses or narrows what goes beyond the limit. */
  enforcedBy: readonly ('gateway' | 'catalog' | 'executor')[];
}

export const keyLimits = {
  hubIds: { kind: 'list', enforcedBy: ['catalog', 'executor'] },
  queryIds: { kind: 'list', enforcedBy: ['catalog', 'executor'] },
  /** Origins of browsers that may use the key. */
  origins: { kind: 'list', enforcedBy: ['gateway'] },
  /** Variables with values that the caller cannot override. */
  context: { kind: 'pinned', enforcedBy: ['catalog', 'executor'] },
  ratePerMinute: { kind: 'upperBound', enforcedBy: ['gateway'] },
  maxRows: { kind: 'upperBound', enforcedBy: ['executor'] },
  /** Refuses variables that a query does not know. */
  strict: { kind: 'flag', enforcedBy: ['executor'] },
} as const satisfies Record<string, KeyLimitRow>;

type Table = typeof keyLimits;
export type KeyLimit = keyof Table;

export const keyLimitNames = Object.keys(keyLimits) as KeyLimit[];

/** The limits that a service enforces; its table of enforcements is keyed by it. */
export type LimitEnforcedBy<Service extends Table[KeyLimit]['enforcedBy'][number]> = {
  [L in KeyLimit]: Service extends Table[L]['enforcedBy'][number] ? L : never;
}[KeyLimit];

/** Pinned values are kept as JSON text, so that no digit is lost: `contextJson`. */
type Field<L extends KeyLimit> = Table[L]['kind'] extends 'pinned' ? `${L}Json` : L;

interface Values {
  list: string[];
  upperBound: number;
  pinned: string;
  flag: boolean;
}

/** The limits of a key as they are stored; what is absent narrows nothing. */
export type KeyLimitValues = { [L in KeyLimit as Field<L>]?: Values[Table[L]['kind']] };

type Repeated = { [L in KeyLimit]: Table[L]['kind'] extends 'list' | 'pinned' ? Field<L> : never }[KeyLimit];

/** The same as a message of protobuf, where an empty list or text stands for none. */
export type KeyLimitFields = Required<Pick<KeyLimitValues, Repeated>> & {
  [F in Exclude<keyof KeyLimitValues, Repeated>]?: KeyLimitValues[F] | undefined;
};

export const fieldOf = (limit: KeyLimit): keyof KeyLimitValues =>
  (keyLimits[limit].kind === 'pinned' ? `${limit}Json` : limit) as keyof KeyLimitValues;

const emptyOf = { list: [], pinned: '', upperBound: undefined, flag: undefined };

export function toFields(values: KeyLimitValues): KeyLimitFields {
  const fields = keyLimitNames.map((limit) => {
    const field = fieldOf(limit);
    return [field, values[field] ?? emptyOf[keyLimits[limit].kind]];
  });
  return Object.fromEntries(fields) as KeyLimitFields;
}

/** What is empty narrows nothing and is left out. */
export function fromFields(fields: KeyLimitFields | undefined): KeyLimitValues {
  const values = keyLimitNames.flatMap((limit) => {
    const field = fieldOf(limit);
    const value = fields?.[field];
    const isEmpty = value === undefined || value === '' || value === false;
    return isEmpty || (Array.isArray(value) && value.length === 0) ? [] : [[field, value]];
  });
  return Object.fromEntries(values) as KeyLimitValues;
}

/** Bounds of the values themselves. */
export const keyLimitBounds = {
  /** Entries of each list. */
  entries: { min: 1, max: 200 },
  /** Of one origin. */
  originLength: { min: 1, max: 300 },
  /** Pinned variables, and the length of their JSON text: it goes along with every call of the key. */
  pinned: { min: 0, max: 200 },
  pinnedJsonLength: { min: 2, max: 16_384 },
  ratePerMinute: { min: 1, max: 100_000_000 },
  maxRows: { min: 1, max: 4_294_967_295 },
} as const;
