/** The kinds of settings, and how the table writes them. */

export type Range = readonly [min: number, max: number];

export const port: Range = [0, 65_535];

interface Described {
  /** How docs show the default, if it is computed or no value says it. */
  shown?: string;
  help: string;
}

export interface IntegerSetting<F extends number | undefined = number | undefined> extends Described {
  kind: 'integer';
  /** Undefined if the reader computes it. */
  fallback: F;
  range: Range;
}

export interface FlagSetting<F extends boolean | undefined = boolean | undefined> extends Described {
  kind: 'flag';
  fallback: F;
}

export interface ChoiceSetting<T extends string = string> extends Described {
  kind: 'choice';
  fallback: T | undefined;
  choices: readonly T[];
}

export interface TextSetting extends Described {
  kind: 'text';
  /** Undefined if the setting is optional or computed. */
  fallback: string | undefined;
}

/** Several texts, separated by commas. */
export interface ListSetting extends Described {
  kind: 'list';
}

export const integer = (fallback: number, range: Range, help: string): IntegerSetting<number> => ({
  ...{ kind: 'integer', fallback, range, help },
});
export const computedInteger = (shown: string, range: Range, help: string): IntegerSetting<undefined> => ({
  ...{ kind: 'integer', fallback: undefined, shown, range, help },
});
export const flag = (fallback: boolean, help: string): FlagSetting<boolean> => ({
  kind: 'flag',
  fallback,
  help,
});
export const computedFlag = (shown: string, help: string): FlagSetting<undefined> => ({
  ...{ kind: 'flag', fallback: undefined, shown, help },
});
export const choice = <const T extends string>(
  choices: readonly T[],
  fallback: { fallback: NoInfer<T> } | { shown: string },
  help: string,
): ChoiceSetting<T> => ({ kind: 'choice', choices, fallback: undefined, ...fallback, help });
export const text = (fallback: string, help: string): TextSetting => ({ kind: 'text', fallback, help });
export const optional = (help: string, shown = 'none'): TextSetting => ({
  ...{ kind: 'text', fallback: undefined, shown, help },
});
export const list = (help: string, shown = 'none'): ListSetting => ({ kind: 'list', shown, help });
