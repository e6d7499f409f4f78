/** A hub as files: what the files say and what the hub has, in one form that can be compared. */

import type { Json, Routes } from '@datahub/client';
import type { Complete } from '@datahub/contract/complete';
import { visible } from '../screen.ts';

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

export interface QueryModel {
  path: string;
  label: string;
  /** The label of the source. */
  source: string;
  folder: string[];
  /** Undefined: the default of the engine. */
  command?: string;
  context: NonNullable<QueryBody['context']>;
  notNull: string[];
  errors?: 'author';
  session?: NonNullable<QueryBody['session']>;
  cache?: NonNullable<QueryBody['cache']>;
  tool?: NonNullable<QueryBody['tool']>;
  presentation?: NonNullable<QueryBody['presentation']>;
  text: string;
}

export interface Fault {
  file: string;
  line: number;
  column: number;
  detail: string;
}

export const toLine = ({ file, line, column, detail }: Fault): string =>
  `${visible(file)}:${line}:${column}: ${visible(detail)}`;

/** Folder labels as a key of maps. */
export const folderKey = (labels: readonly string[]): string => JSON.stringify(labels);

/** Returns a path for a label, which no other of `taken` has. */
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
