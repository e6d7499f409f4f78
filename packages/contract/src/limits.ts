/**
 * Lengths and counts that more than one service checks: the gateway's JSON Schemas, the catalog and ml. Names with
 * `Characters` count Unicode characters, as JSON Schema does; others count UTF-16 code units.
 */

export interface Bounds {
  min: number;
  max: number;
}

/** The largest list, in characters of its documents, and the largest document of a hub, in bytes. */
export const largestResponse = 32 * 1_048_576;
export const listTooLarge = `The list is larger than ${largestResponse / 1_048_576} MiB. Request a part of it with limit and offset.`;

/** The most items on a page of a list, if the list has no limit of its own. */
export const pageItemsMax = 10_000;

/** The most elements of a list as a value. */
export const listElementsMax = 10_000;

/** The length of labels and names after trimming. */
export const labelCharacters = { min: 1, max: 200 } as const;
/**
 * The gateway does not trim, so it accepts longer labels with blanks around them. The owning service checks exactly.
 */
export const untrimmedLabelCharacters = { min: 1, max: 5 * labelCharacters.max } as const;
export const idCharacters = { min: 1, max: 256 } as const;

export const queryLimits = {
  textLength: { min: 1, max: 262_144 },
  commandLength: { min: 1, max: 32 },
  variables: { min: 0, max: 200 },
  variableNameLength: { min: 1, max: 64 },
  /** The values of all variables together: defaults and allowed values, at all depths. */
  values: { min: 0, max: 10_000 },
  /** Each time of a cache policy, which is the longest time that an answer is cached. */
  cacheSeconds: { min: 0, max: 86_400 },
  /** The number of columns that are asserted to be not null, and the length of their names. */
  notNull: { min: 0, max: 200 },
  columnNameLength: { min: 1, max: 256 },
  toolDescriptionLength: { min: 1, max: 2_000 },
  /** Of the JSON text in UTF-8. */
  presentationBytes: { min: 2, max: 8_192 },
} as const satisfies Record<string, Bounds>;

export const sourceLimits = {
  hostLength: { min: 1, max: 253 },
  port: { min: 1, max: 65_535 },
  databaseLength: { min: 1, max: 255 },
  userLength: { min: 1, max: 128 },
  passwordLength: { min: 0, max: 1_024 },
  pemLength: { min: 1, max: 65_536 },
  poolConnections: { min: 1, max: 100 },
  idleTimeoutMs: { min: 1_000, max: 3_600_000 },
  statementTimeoutMs: { min: 1, max: 3_600_000 },
  authSourceLength: { min: 1, max: 255 },
  hosts: { min: 0, max: 50 },
  replicaSetLength: { min: 1, max: 128 },
  sshUserLength: { min: 1, max: 128 },
  hostKeyLength: { min: 1, max: 4_096 },
} as const satisfies Record<string, Bounds>;

/** The versions of a query that are kept, the present one included, and the bytes of the older ones. */
export const queryVersionsKept = { max: 100, olderBytesMax: 1_048_576 } as const;

/** The time for which the old key stays valid after a rotation. `ownMin` is for a key that replaces itself. */
export const rotationOverlapSeconds = { min: 0, ownMin: 60, max: 30 * 24 * 3_600 } as const;

export const classifierLimits = {
  /** The number of examples or contexts of one call. */
  batch: { min: 1, max: 10_000 },
  /** The number of scores in the answer for one context. */
  top: { min: 1, max: 1_000 },
  /** The number of annotations of an execution. */
  annotations: { min: 1, max: 8 },
  /** The number of examples on a page. */
  examplesPage: { min: 1, max: 1_000 },
} as const satisfies Record<string, Bounds>;

/**
 * The texts to label next: how many an answer has, their scores, and the rows of the query that they come from. `computed`:
 * rows times classes, which take 1.3 s of CPU, so 20 such calls at once end within a minute.
 */
export const uncertainTexts = {
  default: 10,
  max: 100,
  scores: 9,
  rows: 10_000,
  computed: 20_000_000,
} as const;

/** The learner ignores the rest of a longer text. */
export const readCharactersMax = 20_000;
const exampleCharactersMax = 4_194_304;

/** Returns the fault of a text to train or predict; undefined if it is valid. */
export function faultOfExampleText(text: string): string | undefined {
  if (text.length > exampleCharactersMax) return `must have at most ${exampleCharactersMax} characters`;
  if (!/\S/.test(text)) return 'must not be blank';
  return text.isWellFormed() ? undefined : 'must be valid Unicode';
}

export const watchLimits = {
  everySeconds: { min: 10, max: 31_622_400 },
  cronLength: { min: 9, max: 100 },
  timeZoneLength: { min: 1, max: 64 },
  spreadSeconds: { min: 0, max: 86_400 },
  forRuns: { min: 1, max: 1_000 },
  /** The number of columns in `by` and `include`. */
  columns: { min: 0, max: 50 },
  destinations: { min: 0, max: 20 },
  contextCharacters: { min: 2, max: 65_536 },
  /** The length of a text that a column is compared with. */
  valueLength: { min: 0, max: 1_000 },
} as const satisfies Record<string, Bounds>;

export const boardLimits = {
  cards: { min: 0, max: 50 },
  textCharacters: { min: 1, max: 10_000 },
  refreshMinutes: { min: 1, max: 1_440 },
  /** Of the cards and values together, as JSON text in UTF-8. */
  bytes: { min: 0, max: 65_536 },
} as const satisfies Record<string, Bounds>;

/** The sizes of a card: one of four places of a row, two, two rows of two, or a whole row. */
export const cardSizes = ['small', 'wide', 'large', 'full'] as const;
export type CardSize = (typeof cardSizes)[number];

export const pathLength = { min: 1, max: 200 } as const;
/** Patterns of JSON Schema, too. */
export const hubPathPattern = '^[a-z0-9_-]+$';
export const queryPathPattern = '^[a-z0-9_-]+(/[a-z0-9_-]+)*$';
/** A query in `limits.queries` of a key: the path of its hub and its own, or its id. */
export const queryNamePattern = '^([a-z0-9_-]+(/[a-z0-9_-]+)+|[A-Za-z0-9_-]+\\.q\\.[A-Za-z0-9_-]+)$';
/** Of the path of a hub, a slash, and the path of a query. */
export const queryNameLength = { min: 3, max: 401 } as const;
export const toolNamePattern = '^[A-Za-z0-9_-]{1,64}$';

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters.
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/;

/** Returns the fault of a trimmed label; undefined if it is valid. */
export function faultOfLabel(label: string): string | undefined {
  const characters = [...label].length;
  const { min, max } = labelCharacters;
  if (characters < min || characters > max) return `must have ${min} to ${max} characters`;
  if (controlCharacters.test(label)) return 'must not contain control characters';
  return label.isWellFormed() ? undefined : 'must be valid Unicode';
}

/** The most failed log-ins of an account in a minute: of a user at an address and port, and of all users at an address. */
export const loginFailuresMax = { login: 5, address: 20 } as const;

/** The beginning of a text that is too long. It does not end in half of a character. */
export const cutText = (text: string, unitsMax: number): string =>
  text.length <= unitsMax ? text : text.slice(0, unitsMax).replace(/[\ud800-\udbff]$/, '');
