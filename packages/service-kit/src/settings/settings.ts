/** Reads settings from the environment and reports all faults at once. */

import type { SettingName } from './known-settings.ts';

export class SettingsError extends Error {
  readonly faults: string[];

  constructor(faults: string[]) {
    super(`Invalid settings:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.name = 'SettingsError';
    this.faults = faults;
  }
}

export type Environment = Record<string, string | undefined>;

export interface SettingsReader {
  /** The text of a setting; empty counts as unset. */
  text(name: SettingName, fallback: string): string;
  optional(name: SettingName): string | undefined;
  required(name: SettingName, whatFor: string): string;
  integer(name: SettingName, fallback: number, range: readonly [min: number, max: number]): number;
  flag(name: SettingName, fallback: boolean): boolean;
  oneOf<const T extends string>(name: SettingName, fallback: NoInfer<T>, values: readonly T[]): T;
  /** Comma-separated. */
  list(name: SettingName, fallback: string[]): string[];
  fault(text: string): void;
}

/** Runs `read` to its end, then throws one SettingsError with all faults. */
export function readSettings<T>(env: Environment, read: (reader: SettingsReader) => T): T {
  const faults: string[] = [];
  const settings = read(createReader(env, faults));
  // Services in one process read some settings several times.
  if (faults.length > 0) throw new SettingsError([...new Set(faults)]);
  return settings;
}

function createReader(env: Environment, faults: string[]): SettingsReader {
  const optional = (name: SettingName) => env[name]?.trim() || undefined;
  return {
    optional,
    text: (name, fallback) => optional(name) ?? fallback,
    required: (name, whatFor) => {
      const value = optional(name);
      if (value === undefined) faults.push(`${name} is not set: ${whatFor}`);
      return value ?? '';
    },
    integer: (name, fallback, [min, max]) => {
      const value = optional(name);
      if (value === undefined) return fallback;
      const number = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
      if (number >= min && number <= max) return number;
      faults.push(`${name} must be a whole number from ${min} to ${max}.`);
      return fallback;
    },
    flag: (name, fallback) => {
      const value = optional(name)?.toLowerCase();
      if (value === undefined) return fallback;
      if (['1', 'true', 'yes', 'on'].includes(value)) return true;
      if (['0', 'false', 'no', 'off'].includes(value)) return false;
      faults.push(`${name} must be 1 or 0.`);
      return fallback;
    },
    oneOf: (name, fallback, values) => {
      const value = optional(name);
      if (value === undefined) return fallback;
      const found = values.find((allowed) => allowed === value);
      if (found === undefined) faults.push(`${name} must be one of ${values.join(', ')}.`);
      return found ?? fallback;
    },
    list: (name, fallback) =>
      optional(name)
        ?.split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '') ?? fallback,
    fault: (text) => faults.push(text),
  };
}
