/** Reads settings from the environment and reports all faults at once. */

import type {
  ChoiceSetting,
  FlagSetting,
  IntegerSetting,
  ListSetting,
  TextSetting,
} from './setting-kinds.ts';
import { type NameOf, type SettingName, settings } from './settings-table.ts';

export class SettingsError extends Error {
  readonly faults: string[];

  constructor(faults: string[]) {
    super(`Invalid settings:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.name = 'SettingsError';
    this.faults = faults;
  }
}

export type Environment = Record<string, string | undefined>;

type Range = readonly [min: number, max: number];

export interface SettingsReader {
  /** The text of a setting; empty counts as unset. */
  text(name: NameOf<TextSetting>, fallback?: string): string;
  optional(name: SettingName): string | undefined;
  required(name: SettingName, whatFor: string): string;
  integer(name: NameOf<IntegerSetting<number>>): number;
  /** A setting whose default depends on the process or on other settings. Its range can be narrower, too. */
  computedInteger(name: NameOf<IntegerSetting<undefined>>, fallback: number, range?: Range): number;
  flag(name: NameOf<FlagSetting<boolean>>): boolean;
  computedFlag(name: NameOf<FlagSetting<undefined>>, fallback: boolean): boolean;
  oneOf<N extends NameOf<ChoiceSetting>>(name: N, fallback?: ChoiceOf<N>): ChoiceOf<N>;
  /** Comma-separated. */
  list(name: NameOf<ListSetting>, fallback?: string[]): string[];
  fault(text: string): void;
}

type ChoiceOf<N extends NameOf<ChoiceSetting>> = (typeof settings)[N]['choices'][number];

/** Runs `read` to its end, then throws one SettingsError with all faults. */
export function readSettings<T>(env: Environment, read: (reader: SettingsReader) => T): T {
  const faults: string[] = [];
  const found = read(createReader(env, faults));
  // Services in one process read some settings several times.
  if (faults.length > 0) throw new SettingsError([...new Set(faults)]);
  return found;
}

function createReader(env: Environment, faults: string[]): SettingsReader {
  const optional = (name: SettingName) => env[name]?.trim() || undefined;
  const integer = (name: SettingName, fallback: number, [min, max]: Range) => {
    const value = optional(name);
    if (value === undefined) return fallback;
    const number = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    faults.push(`${name} must be a whole number from ${min} to ${max}.`);
    return fallback;
  };
  const flag = (name: SettingName, fallback: boolean) => {
    const value = optional(name)?.toLowerCase();
    if (value === undefined) return fallback;
    if (['1', 'true', 'yes', 'on'].includes(value)) return true;
    if (['0', 'false', 'no', 'off'].includes(value)) return false;
    faults.push(`${name} must be 1 or 0.`);
    return fallback;
  };
  return {
    optional,
    text: (name, fallback) => optional(name) ?? fallback ?? settings[name].fallback ?? '',
    required: (name, whatFor) => {
      const value = optional(name);
      if (value === undefined) faults.push(`${name} is not set: ${whatFor}`);
      return value ?? '';
    },
    integer: (name) => integer(name, settings[name].fallback, settings[name].range),
    computedInteger: (name, fallback, range = settings[name].range) => integer(name, fallback, range),
    flag: (name) => flag(name, settings[name].fallback),
    computedFlag: flag,
    oneOf: (name, computed) => {
      const { choices, fallback } = settings[name];
      const value = optional(name);
      const found = choices.find((allowed) => allowed === value);
      if (value !== undefined && found === undefined)
        faults.push(`${name} must be one of ${choices.join(', ')}.`);
      return (found ?? computed ?? fallback) as ChoiceOf<typeof name>;
    },
    list: (name, fallback = []) =>
      optional(name)
        ?.split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '') ?? fallback,
    fault: (text) => faults.push(text),
  };
}
