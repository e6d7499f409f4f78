/** Reads stored snapshots, and writes them as earlier versions did. */

import { serialize } from 'node:v8';
import { fromBytesInPieces } from '../../src/classifiers/pieces.ts';
import { noPause } from './model/restored.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests change members of snapshots.
export const readSnapshot = async (bytes: Uint8Array): Promise<any> => fromBytesInPieces(bytes, noPause);

export const inOneValue = (snapshot: { learner: unknown }): Uint8Array =>
  serialize({ ...snapshot, learner: serialize(snapshot.learner) });
