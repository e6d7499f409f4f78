/** Runs for each file of tests over HTTP. Files of one worker share the modules, and so `hub.ts`. */

import { afterAll } from 'vitest';
import { removeHubs } from './hub.ts';

// FerretDB reads whole collections to find a document, so each file removes what it created.
afterAll(removeHubs);
