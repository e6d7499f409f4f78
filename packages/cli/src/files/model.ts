/** A hub as files: what the files say and what the hub has, in one form that can be compared. */

import type { Json, Routes } from '@datahub/client';
import type { Complete } from '@datahub/contract/complete';
import { toolNamePattern } from '@datahub/contract/limits';
import { lossOfSession } from '@datahub/contract/session-settings';
import { isolations } from '@datahub/contract/transactions';
import type { Shape } from './yaml.ts';

export interface HubModel {
  path: string;
  label: string;
  sources: SourceModel[];
  /** The labels from the category down to each folder; parents come first. */
  folders: string[][];
  classifiers: ClassifierModel[];
  queries: QueryModel[];
}

/** All members of a body but those that the hub ignores, whose type is any JSON. */
export type Settable<Body> = Complete<{
  [Member in keyof Body as Json extends Body[Member] ? never : Member]: Body[Member];
}>;

type QueryBody = Settable<Routes['POST /v1/queries']['body']>;
type SourceBody = Settable<Routes['POST /v1/sources']['body']>;

export interface SourceModel {
  label: string;
  engine: SourceBody['engine'];
  connectionSettings: Record<string, unknown>;
}

export interface ClassifierModel {
  name: string;
  /** The name before, if the file renames it. */
  formerly?: string;
}

/** Members that say where a query is, or that files write in another way than bodies. */
type Written = 'path' | 'label' | 'command' | 'context' | 'notNull';
type References = 'hubId' | 'sourceId' | 'parentNodeId' | 'query';
type SettingName = Exclude<keyof QueryBody, Written | References>;
export type QuerySettings = { [Name in SettingName]?: NonNullable<QueryBody[Name]> };

export interface QueryModel extends QuerySettings {
  path: string;
  label: string;
  /** The label of the source. */
  source: string;
  folder: string[];
  /** Undefined: the default of the engine. */
  command?: string;
  context: NonNullable<QueryBody['context']>;
  notNull: string[];
  text: string;
}

type WatchBody = Settable<Routes['POST /v1/watches']['body']>;

export interface WatchModel extends Pick<WatchBody, 'label' | 'schedule'> {
  path: string;
  /** The path of the query. */
  query: string;
  context: Record<string, unknown>;
  /** A word, or a condition. */
  when: string | Record<string, unknown>;
  by: readonly string[];
  include: readonly string[];
  /** The labels of destinations. */
  to: readonly string[];
  paused: boolean;
}

type BoardBody = Settable<Routes['POST /v1/boards']['body']>;

/** A card of a query or a text. */
export interface CardModel extends Omit<BoardBody['cards'][number], 'queryId' | 'path'> {
  /** The path of the query. */
  query?: string;
}

export interface BoardModel {
  path: string;
  label: string;
  values: Record<string, unknown>;
  refreshMinutes?: number;
  cards: readonly CardModel[];
}

type KeyLimits = NonNullable<Settable<Routes['POST /v1/keys']['body']>['limits']>;

/** A key without its text. Files name queries by path, and classifiers by name. */
export interface KeyModel {
  path: string;
  scopes: readonly string[];
  limits: Omit<KeyLimits, 'hubIds' | 'queryIds' | 'queries' | 'classifierIds'> & {
    queries?: readonly string[];
    classifiers?: readonly string[];
  };
  expiresAt?: string;
}

/** What a change of a member means for the callers of the query. */
export interface Meaning<Value> {
  /** It can change the columns and variables, which the hub compares. */
  isOfSignature?: true;
  /** Says why a call that succeeded can fail now. */
  loss?(before: Value | undefined, after: Value | undefined): string | undefined;
}

export const harmless = {};
export const ofSignature = { isOfSignature: true } as const;

/** The settings that a query may lack. Files, answers and bodies spell them alike. */
export const querySettings = {
  errors: {
    meaning: {
      loss: (before, after) =>
        before !== undefined && after === undefined ? 'errors lose message and hint' : undefined,
    },
    shape: { oneOf: ['author'] },
  },
  session: { meaning: { ...ofSignature, loss: lossOfSession }, shape: 'object' },
  steps: {
    meaning: ofSignature,
    shape: {
      list: {
        members: {
          query: 'text',
          command: 'text',
          as: 'text',
          options: 'object',
          references: 'object',
        } satisfies Record<keyof NonNullable<QueryBody['steps']>[number], Shape>,
        required: ['query'],
      },
    },
  },
  isolation: { meaning: harmless, shape: { oneOf: isolations } },
  retry: { meaning: harmless, shape: 'boolean' },
  cache: {
    meaning: harmless,
    shape: {
      members: {
        maxAgeS: 'whole number',
        staleS: 'whole number',
        validate: 'text',
      } satisfies ShapesOf<'cache'>,
      required: ['maxAgeS'],
    },
  },
  tool: {
    meaning: { loss: lossOfTool },
    shape: {
      members: {
        name: { pattern: toolNamePattern, what: 'of 1 to 64 letters, digits, - and _' },
        description: 'text',
      } satisfies ShapesOf<'tool'>,
      required: ['description'],
    },
  },
  keepValues: { meaning: harmless, shape: 'boolean' },
  presentation: { meaning: harmless, shape: 'object' },
} as const satisfies { [Name in SettingName]: { meaning: Meaning<QueryModel[Name]>; shape: Shape } };

function lossOfTool(before: QueryModel['tool'], after: QueryModel['tool']): string | undefined {
  if (before === undefined || (after !== undefined && after.name === before.name)) return undefined;
  return `agents lose the tool${before.name === undefined ? '' : ` ${before.name}`}`;
}

type ShapesOf<Name extends SettingName> = Record<keyof NonNullable<QueryBody[Name]>, Shape>;

/** Makes something of each setting. */
export const bySetting = <T>(make: (name: SettingName) => T): Record<SettingName, T> =>
  Object.fromEntries(
    (Object.keys(querySettings) as SettingName[]).map((name) => [name, make(name)]),
  ) as Record<SettingName, T>;

/** The settings of a query, and `absent` for each that it lacks. */
export const settingsOf = <const Absent = undefined>(query: QuerySettings, absent?: Absent) =>
  bySetting((name) => query[name] ?? absent) as {
    [Name in SettingName]: NonNullable<QueryBody[Name]> | Absent;
  };

/** Folder labels as a key of maps. */
export const folderKey = (labels: readonly string[]): string => JSON.stringify(labels);

/** Returns a path for a label, which no other of `taken` has. */
/** True for a path that the hub accepts, and a file can have. */
export const isPath = (text: string): boolean =>
  text.length <= 200 && /^[a-z0-9_-]+(\/[a-z0-9_-]+)*$/.test(text);

export function toPath(label: string, taken: ReadonlySet<string> = new Set()): string {
  const plain = label.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const slug =
    plain
      .replaceAll(/[^a-z0-9_]+/g, '-')
      .replaceAll(/^-+|-+$/g, '')
      .slice(0, 100) || 'unnamed';
  let path = slug;
  for (let count = 2; taken.has(path); count++) path = `${slug}-${count}`;
  return path;
}
