/**
 * Where programs for the tests are kept: servers, Helm and others that are downloaded or built. All clones on a machine
 * share the folder, so a fresh clone finds what another one installed.
 */

import { homedir } from 'node:os';
import { join } from 'node:path';

export const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'data-hub');
